/*
 * core_linux.c - for linux_spec.lua: opens the Linux source on given roots and prints every
 * kstat with its statistics, one line each:
 *
 *     core_linux PROC SYS [COMMAND...]
 *
 * After the first dump, the shell runs each COMMAND, the chain is brought up to date, and
 * there is another dump after a line "--"; "read:COMMAND" leaves the chain as it is. "-" as a
 * root is the default one. Lines:
 *
 *     kstat <TAB> module:instance:name <TAB> class <TAB> type <TAB> crtime
 *     stat <TAB> module:instance:name:statistic <TAB> value
 *     meta <TAB> module:instance:name:statistic <TAB> kind <TAB> unit <TAB> description
 *     error <TAB> module:instance:name <TAB> message
 *     warning <TAB> message
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "model/decode.h"
#include "source/sources.h"

static void
print_value(const struct ks_value *v)
{
	switch (v->kind) {
	case KS_VALUE_U64:
		printf("%" PRIu64 "\n", v->u64);
		break;
	case KS_VALUE_DOUBLE:
		printf("%.17g\n", v->d);
		break;
	case KS_VALUE_STRING:
		printf("%.*s\n", (int)v->len, v->str);
		break;
	case KS_VALUE_INTS:
	case KS_VALUE_STRS:
		printf("(array)\n");
		break;
	default:
		printf("%" PRId64 "\n", v->i64);
		break;
	}
}

static void
print_kstat(kstat_ctl_t *kc, kstat_t *ksp)
{
	char id[3 * KSTAT_STRLEN];
	struct ks_cursor c;
	const char *name;
	struct ks_value v;

	(void)snprintf(id, sizeof(id), "%s:%d:%s", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	printf("kstat\t%s\t%s\t%d\t%lld\n", id, ksp->ks_class, ksp->ks_type, ksp->ks_crtime);
	if (kstat_read(kc, ksp, NULL) < 0) {
		printf("error\t%s\t%s\n", id, kstat_errmsg());
		return;
	}
	ks_cursor_open(&c, ksp);
	while (ks_cursor_next(&c, &name, &v)) {
		const struct ks_meta *m = ks_chain_meta(kc, ksp, name);

		printf("stat\t%s:%s\t", id, name);
		print_value(&v);
		if (m != NULL)
			printf("meta\t%s:%s\t%s\t%s\t%s\n", id, name, ks_kind_name(m->kind), m->unit, m->desc);
	}
}

static void
dump(kstat_ctl_t *kc)
{
	const char *warning;

	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next)
		print_kstat(kc, ksp);
	while ((warning = ks_chain_warning(kc)) != NULL)
		printf("warning\t%s\n", warning);
}

int
main(int argc, char **argv)
{
	kstat_ctl_t *kc;

	if (argc < 3) {
		fprintf(stderr, "usage: core_linux PROC SYS [COMMAND...]\n");
		return 2;
	}
	/* Not kstat_open_roots(), whose chain has what only programs of illumos should see. */
	kc = ks_chain_open_source(ks_source_linux_open(strcmp(argv[1], "-") == 0 ? NULL : argv[1],
	    strcmp(argv[2], "-") == 0 ? NULL : argv[2]), NULL);
	if (kc == NULL) {
		printf("failed\t%s\n", kstat_errmsg());
		return 1;
	}
	dump(kc);
	for (int i = 3; i < argc; i++) {
		bool update = strncmp(argv[i], "read:", 5) != 0;

		(void)fflush(stdout);
		if (system(update ? argv[i] : argv[i] + 5) != 0) {
			fprintf(stderr, "core_linux: command failed: %s\n", argv[i]);
			return 2;
		}
		printf("--\t%d\n", update ? (int)kstat_chain_update(kc) : 0);
		dump(kc);
	}
	return kstat_close(kc) == 0 ? 0 : 1;
}
