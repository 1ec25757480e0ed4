/*
 * core_capture.c - replays a capture and prints what the chain makes of it.
 *     core_capture FORMAT SAMPLES FILE
 * FORMAT: p or j (as kstat -p and -j), chain (headers, in chain order), types (of NAMED values),
 * read (nothing, but reads everything). Each sample is headed by "== " and its time of day.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "output/render.h"
#include "source/replay/replay.h"

static int
put(void *arg, const char *p, size_t n)
{
	return fwrite(p, 1, n, arg) == n ? 0 : -1;
}

static void
print_chain(kstat_ctl_t *kc)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		kid_t read = kstat_read(kc, k, NULL);

		(void)printf("%s:%d:%s %s %d %lld", k->ks_module, k->ks_instance, k->ks_name,
		    k->ks_class, k->ks_type, k->ks_crtime);
		if (read < 0)
			(void)printf(" %s\n", strerrorname_np(errno));
		else
			(void)printf(" %lld %u\n", k->ks_snaptime, k->ks_ndata);
	}
}

static void
print_types(kstat_ctl_t *kc)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		const kstat_named_t *kn;

		if (kstat_read(kc, k, NULL) < 0 || k->ks_type != KSTAT_TYPE_NAMED)
			continue;
		kn = KSTAT_NAMED_PTR(k);
		for (uint_t i = 0; i < k->ks_ndata; i++) {
			(void)printf("%s %d", kn[i].name, kn[i].data_type);
			if (kn[i].data_type == KSTAT_DATA_STRING)
				(void)printf(" %s", KSTAT_NAMED_STR_PTR(&kn[i]) != NULL ?
				    KSTAT_NAMED_STR_PTR(&kn[i]) : "(null)");
			(void)printf("\n");
		}
	}
}

static void
print(kstat_ctl_t *kc, const char *format)
{
	static const struct ks_selector everything;
	const struct ks_selector *selectors[] = { &everything };

	if (strcmp(format, "chain") == 0)
		print_chain(kc);
	else if (strcmp(format, "types") == 0)
		print_types(kc);
	else if (strcmp(format, "read") == 0)
		(void)ks_render_write(kc, selectors, 1, KS_FORMAT_QUIET, put, stdout);
	else
		(void)ks_render_write(kc, selectors, 1,
		    *format == 'j' ? KS_FORMAT_JSON : KS_FORMAT_PARSEABLE, put, stdout);
}

/* The sample's own time of day, from the source: the chain has one to show for every sample. */
static void
print_head(struct ks_source *src)
{
	int64_t ns;

	if (src->ops->time_of_day(src, &ns) > 0)
		(void)printf("== %lld\n", (long long)(ns / 1000000000));
	else
		(void)printf("==\n");
}

static int
fail(void)
{
	(void)printf("error %s: %s\n", strerrorname_np(errno), kstat_errmsg());
	return 1;
}

int
main(int argc, char **argv)
{
	struct ks_source *src;
	kstat_ctl_t *kc;
	const char *line;

	if (argc != 4)
		return 2;
	src = ks_source_replay_open(argv[3], &KS_WINDOW_ALL);
	kc = ks_chain_open_source(src, NULL);
	if (kc == NULL)
		return fail();
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (i > 0 && ks_chain_step(kc) < 0) {
			(void)fail();
			break;
		}
		print_head(src);
		while ((line = ks_chain_warning(kc)) != NULL)
			(void)printf("warning: %s\n", line);
		print(kc, argv[1]);
		(void)fflush(stdout);
	}
	(void)kstat_close(kc);
	return 0;
}
