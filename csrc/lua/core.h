/*
 * core.h - the parts of the C module kstat.core. Each function enters its own part: the table on
 * top of the stack is the module, and stays there. SPDX-License-Identifier: MIT
 */
#ifndef LUA_CORE_H
#define LUA_CORE_H

struct lua_State;

int luaopen_kstat_core(struct lua_State *L);

void ks_lua_add_error(struct lua_State *L);    /* error.c: failures that are not the script's */
void ks_lua_add_value(struct lua_State *L);    /* value.c: numbers and their text */
void ks_lua_add_selector(struct lua_State *L); /* selector.c */
void ks_lua_add_pattern(struct lua_State *L);  /* pattern.c */
void ks_lua_add_kstat(struct lua_State *L);    /* kstat.c: one kstat, live or sampled */
void ks_lua_add_kstat_values(struct lua_State *L); /* kstat_values.c: its statistics; after kstat.c */
void ks_lua_add_figures(struct lua_State *L);  /* figures.c: sums over a kstat; after kstat.c */
void ks_lua_add_io(struct lua_State *L);       /* io.c: what I/O kstats counted */
void ks_lua_add_find(struct lua_State *L);     /* find.c: kstats of chains, samples and differences */
void ks_lua_add_chain(struct lua_State *L);    /* chain.c */
void ks_lua_add_sample(struct lua_State *L);   /* sample.c: samples and their differences */
void ks_lua_add_render(struct lua_State *L);   /* render.c: the formats of kstat(8) */
void ks_lua_add_output(struct lua_State *L);   /* output.c: flushing files */
void ks_lua_add_stats(struct lua_State *L); /* stats.c: kstat.core.stats, statsblobs */
void ks_lua_add_stats_template(struct lua_State *L); /* stats_template.c: the same, templates */
void ks_lua_add_recorder(struct lua_State *L); /* recorder.c: writing recordings */
void ks_lua_add_histogram(struct lua_State *L); /* histogram.c */
void ks_lua_add_terminal(struct lua_State *L); /* terminal.c */
void ks_lua_add_layout(struct lua_State *L);  /* layout.c: lines of a table */
void ks_lua_add_wait(struct lua_State *L);     /* wait.c */
void ks_lua_add_devstat(struct lua_State *L);  /* devstat.c: kstat.core.devstat */
void ks_lua_add_devstat_select(struct lua_State *L); /* devstat_select.c: the same */
void ks_lua_add_publish(struct lua_State *L);  /* publish.c: kstat.core.publish */
void ks_lua_add_publish_record(struct lua_State *L);  /* publish_record.c: the same, queues, timers, histograms */
void ks_lua_add_publish_counter(struct lua_State *L); /* publish_counter.c: the same, counters */
void ks_lua_add_publish_blob(struct lua_State *L);    /* publish_blob.c: the same, statsblobs */
void ks_lua_add_publish_codes(struct lua_State *L);   /* codes.c: the same, numbers of types and kinds */

#endif
