/*
 * window.c - fuzzes the bounds of a replay: the first line of the input is --from, the second --to. A text is a time
 * or it is refused with EINVAL; and what is shown lies between the two. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chain/chain.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[40];

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const hours[] = { "2026-11-21T14:00:00Z", "2026-11-21T15:00:00Z" };
	int fd = memfd_create("capture", MFD_CLOEXEC);

	(void)argc;
	(void)argv;
	(void)setenv("TZ", "UTC", 1);
	for (int i = 0; i < 2; i++)
		(void)dprintf(fd, "%s\n[{ \"module\": \"m\", \"instance\": 0, \"name\": \"n\", \"class\": \"c\", "
		    "\"type\": 1, \"snaptime\": %d.0, \"data\": { \"a\": %d } }]\n", hours[i], i * 3600 + 1, i);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size < 200 ? size : 200;
	char text[201], *to;
	kstat_ctl_t *kc;

	memcpy(text, data, n);
	text[n] = '\0';
	to = strchr(text, '\n');
	if (to != NULL)
		*to++ = '\0';
	(void)setenv("KSTAT_FROM", text, 1);
	(void)setenv("KSTAT_TO", to != NULL ? to : "", 1);
	kc = kstat_open_capture(path);
	if (kc == NULL) {
		if ((errno != EINVAL && errno != ENODATA) || *kstat_errmsg() == '\0')
			abort();
		return 0;
	}
	for (int i = 0; i < 3 && ks_chain_step(kc) >= 0 && !ks_chain_ended(kc); i++) {
		if (kc->kc_chain != NULL)
			(void)kstat_read(kc, kc->kc_chain, NULL);
	}
	(void)kstat_close(kc);
	return 0;
}
