/*
 * capture.c - fuzzes the reading of captures: whatever the bytes, opening, stepping, reading
 * and rendering must end, stay inside memory, and produce JSON that can itself be replayed. A program that knows
 * kstats from illumos reads what was produced, each kstat into as much memory as its header says.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "chain/chain.h"
#include "output/render.h"
#include "source/replay/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kstat_ctl_t *
replay(const void *data, size_t size, const struct ks_only *only)
{
	char path[40];
	kstat_ctl_t *kc;
	int fd = memfd_create("capture", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kc = ks_chain_open_source(ks_source_replay_open(path, &KS_WINDOW_ALL), only);
	(void)close(fd);
	return kc;
}

static int
append(void *buf, const char *p, size_t n)
{
	ks_buf_add(buf, p, n);
	return 0;
}

static void
read_all(kstat_ctl_t *kc)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		char *buf = malloc(k->ks_data_size);

		if (kstat_read(kc, k, buf) == -1 && errno == EOVERFLOW && (k->ks_flags & KSTAT_FLAG_VAR_SIZE) == 0 &&
		    (k->ks_flags & KSTAT_FLAG_STATSBLOB) == 0) {
			(void)fprintf(stderr, "%s\n", kstat_errmsg());
			abort();
		}
		free(buf);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ks_only for_program = { .for_program = true };
	static const struct ks_selector everything;
	const struct ks_selector *selectors[] = { &everything };
	kstat_ctl_t *kc = replay(data, size, NULL);
	struct ks_buf json = KS_BUF_INIT;

	if (kc == NULL)
		return 0;
	for (int i = 0; i < 8; i++) {
		kstat_ctl_t *again;

		while (ks_chain_warning(kc) != NULL)
			;
		(void)ks_chain_time_of_day(kc, NULL);
		ks_buf_reset(&json);
		if (ks_render_write(kc, selectors, 1, KS_FORMAT_JSON_CLASS, append, &json) < 0)
			abort();
		again = replay(json.data, json.len, &for_program);
		if (again == NULL) {
			(void)fprintf(stderr, "%s\n%.*s\n", kstat_errmsg(), (int)json.len, json.data);
			abort();
		}
		read_all(again);
		(void)kstat_close(again);
		if (ks_chain_step(kc) < 0)
			break;
	}
	ks_buf_free(&json);
	(void)kstat_close(kc);
	return 0;
}
