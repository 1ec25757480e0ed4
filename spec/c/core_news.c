/*
 * core_news.c - for news_spec.lua: what a chain and those who read it learn of a thing that comes and goes.
 *
 *     core_news OPERAND NAME STEP...
 *
 * It opens a chain of the kstats that OPERAND selects and makes the steps, each of which prints its result. What the
 * steps look for is the kstat NAME.
 *
 *     sh COMMAND   runs a shell command, which must succeed; prints nothing
 *     update       "changed" or "same", as kstat_chain_update() says
 *     look         "absent", "there" at the first time, then "there" if it is the same kstat, else "another"
 *     read         reads the kstat that the last look found: "read", "ENXIO", or another error
 *     others       reads all other kstats of the chain; prints nothing
 *     settle       what programs of illumos do: reads all kstats, after ENXIO updates the chain and begins again, until
 *                  nothing is missing and an update changes nothing: "settled", or "endless"
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "select/selector.h"

#define MOST_ROUNDS 10

static kstat_ctl_t *kc;
static const char *name;
static kstat_t found; /* as the last look that found it saw it */

static const char *
look(void)
{
	const kstat_t *k = kstat_lookup(kc, NULL, -1, name);
	bool same = k != NULL && (found.ks_kid == 0 || k->ks_kid == found.ks_kid);

	if (k != NULL)
		found = *k;
	return k == NULL ? "absent" : same ? "there" : "another";
}

static const char *
read_found(void)
{
	kstat_t *k = ks_chain_find(kc, found.ks_kid);

	if (k == NULL || kstat_read(kc, k, NULL) >= 0)
		return k == NULL ? "absent" : "read";
	return errno == ENXIO ? "ENXIO" : kstat_errmsg();
}

/* Reads all kstats, or all but the one that was found. Returns false if one is gone. */
static bool
read_all(bool others)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if ((!others || k->ks_kid != found.ks_kid) && kstat_read(kc, k, NULL) < 0 && errno == ENXIO)
			return false;
	}
	return true;
}

static const char *
settle(void)
{
	for (int i = 0; i < MOST_ROUNDS; i++) {
		bool complete = read_all(false);

		if (kstat_chain_update(kc) == 0 && complete)
			return "settled";
	}
	return "endless";
}

static int
make_step(const char *step)
{
	if (strncmp(step, "sh ", 3) == 0)
		return system(step + 3);
	if (strcmp(step, "others") == 0)
		(void)read_all(true);
	else if (strcmp(step, "update") == 0)
		puts(kstat_chain_update(kc) != 0 ? "changed" : "same");
	else
		puts(strcmp(step, "look") == 0 ? look() : strcmp(step, "read") == 0 ? read_found() : settle());
	return fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct ks_selector s;
	int rc = 0;

	if (argc < 3)
		return 2;
	name = argv[2];
	if (ks_selector_parse(&s, argv[1], strlen(argv[1])) != 0)
		return 2;
	kc = ks_chain_open(&(struct ks_only){ .selector = (const struct ks_selector *[]){ &s }, .n = 1, .machine = true });
	if (kc == NULL) {
		fprintf(stderr, "core_news: %s\n", kstat_errmsg());
		return 1;
	}
	for (int i = 3; i < argc && rc == 0; i++)
		rc = make_step(argv[i]);
	(void)kstat_close(kc);
	ks_selector_free(&s);
	return rc == 0 ? 0 : 1;
}
