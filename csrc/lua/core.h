/* core.h - the parts of the C module kstat.core. SPDX-License-Identifier: MIT */
#ifndef LUA_CORE_H
#define LUA_CORE_H

struct lua_State;

int luaopen_kstat_core(struct lua_State *L);

/*
 * All parts, in the order in which they are added. Each has a function ks_lua_add_PART() in a file of its own, which
 * enters what the part has into the table on top of the stack, the module, and leaves that there.
 */
#define KS_LUA_PARTS(part) \
	part(error)           /* error.c: failures that are not the script's */ \
	part(value)           /* value.c: numbers and their text */ \
	part(selector)        /* selector.c: selectors and patterns */ \
	part(kstat)           /* kstat.c: one kstat, live or sampled */ \
	part(kstat_values)    /* kstat_values.c: its statistics; after kstat.c */ \
	part(system)          /* system.c: directories, files, signals to processes */ \
	part(find)            /* find.c: kstats of chains, samples and differences */ \
	part(chain)           /* chain.c */ \
	part(sample)          /* sample.c: samples and their differences */ \
	part(ranking)         /* ranking.c: statistics in the order of a figure; after selector.c */ \
	part(figures)         /* figures.c: some statistics of many kstats, and what I/O kstats counted */ \
	part(render)          /* render.c: the formats of kstat(8) */ \
	part(stats)           /* stats.c: kstat.core.stats, statsblobs */ \
	part(stats_template)  /* stats_template.c: the same, templates */ \
	part(recorder)        /* recorder.c: writing recordings */ \
	part(exposition)      /* exposition.c: kstats as metrics */ \
	part(idle)            /* idle.c: rows in which nothing is counted */ \
	part(distribution)    /* distribution.c: what histograms counted */ \
	part(window)          /* window.c: values of the last so many seconds */ \
	part(terminal)        /* terminal.c */ \
	part(screen)          /* screen.c: frames on it, and keys from it */ \
	part(line)            /* line.c: lines of a table */ \
	part(wait)            /* wait.c */ \
	part(devstat)         /* devstat.c: kstat.core.devstat */ \
	part(devstat_select)  /* devstat_select.c: the same */ \
	part(devstat_provide) /* devstat_provide.c: the same */ \
	part(publish)         /* publish.c: kstat.core.publish */ \
	part(publish_record)  /* publish_record.c: the same, queues, timers, histograms */ \
	part(publish_counter) /* publish_counter.c: the same, counters */ \
	part(publish_blob)    /* publish_blob.c: the same, statsblobs */ \
	part(publish_codes)   /* codes.c: the same, numbers of types and kinds */

#define KS_LUA_DECLARE(part) void ks_lua_add_##part(struct lua_State *L);
KS_LUA_PARTS(KS_LUA_DECLARE)

#endif
