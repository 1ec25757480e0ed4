/*
 * publisher.c - what the publications of each user may cost a reader. SPDX-License-Identifier: MIT
 */
#include "source/segment/segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"

/*
 * What publications may cost. This user and root are trusted; a stranger has a share, and all strangers together no
 * more than four, however many user IDs one person has. Descriptors are shares of what the process may open, so
 * that enough of them are left for the machine's own kstats.
 */
#define TRUSTED_BYTES (512u << 20) /* 200,000 rows of nginx */
#define STRANGER_BYTES (16u << 20)
#define STRANGER_FILES 64
#define STRANGER_STATISTICS 5000        /* enough for an application under a user of its own */
#define STRANGERS_STATISTICS 10000
#define STRANGER_LOOKS 65536            /* entries, in one update */
#define STRANGER_PATIENCE 200000000LL   /* ns in one update */
#define STRANGERS 4

void
ks_seg_open_budgets(struct ks_segments *s)
{
	struct rlimit rl;
	uint64_t files = getrlimit(RLIMIT_NOFILE, &rl) == 0 ? (uint64_t)rl.rlim_cur : 1024;

	s->all = (struct ks_seg_budget){ .most_files = files / 2, .most_bytes = UINT64_MAX,
		.most_statistics = UINT64_MAX,
		.most_looks = UINT64_MAX, .most_patience = INT64_MAX };
	s->strangers = (struct ks_seg_budget){ .whole = &s->all, .most_files = files / 4,
		.most_statistics = STRANGERS_STATISTICS,
		.most_bytes = (uint64_t)STRANGERS * STRANGER_BYTES, .most_looks = STRANGERS * STRANGER_LOOKS,
		.most_patience = STRANGERS * STRANGER_PATIENCE };
}

struct ks_publisher *
ks_seg_find_publisher(struct ks_segments *s, uid_t uid, bool trusted)
{
	struct ks_publisher *p = s->publishers;

	while (p != NULL && p->uid != uid)
		p = p->next;
	if (p != NULL)
		return p;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	p->uid = uid;
	p->budget = (struct ks_seg_budget){ .whole = &s->all, .most_files = KS_SEG_MOST_FILES,
		.most_statistics = UINT64_MAX, .most_bytes = TRUSTED_BYTES, .most_looks = UINT64_MAX, .most_patience = INT64_MAX };
	if (!trusted)
		p->budget = (struct ks_seg_budget){ .whole = &s->strangers, .most_files = STRANGER_FILES,
			.most_statistics = STRANGER_STATISTICS,
			.most_bytes = STRANGER_BYTES, .most_looks = STRANGER_LOOKS,
			.most_patience = STRANGER_PATIENCE };
	p->budget.patience = p->budget.most_patience;
	p->next = s->publishers;
	s->publishers = p;
	return p;
}

bool
ks_seg_budget_take(struct ks_seg_budget *b, size_t used, size_t most, uint64_t n)
{
	uint64_t *u, m;

	if (b == NULL)
		return true;
	u = (uint64_t *)(void *)((char *)b + used);
	m = *(const uint64_t *)(const void *)((const char *)b + most);
	if (n > m || *u > m - n || !ks_seg_budget_take(b->whole, used, most, n))
		return false;
	*u += n;
	return true;
}

void
ks_seg_budget_give_back(struct ks_seg_budget *b, uint64_t files, uint64_t bytes, uint64_t statistics)
{
	for (; b != NULL; b = b->whole) {
		b->files -= files;
		b->bytes -= bytes;
		b->statistics -= statistics;
	}
}

static void
start_pass(struct ks_seg_budget *b)
{
	b->looks = 0;
	b->patience = b->most_patience;
}

void
ks_seg_start_budgets(struct ks_segments *s, bool all)
{
	start_pass(&s->all);
	start_pass(&s->strangers);
	for (struct ks_publisher *p = s->publishers; p != NULL; p = p->next) {
		start_pass(&p->budget);
		if (all)
			p->cut = NULL;
	}
}

void
ks_seg_complain_of_users(struct ks_segments *s, struct ks_scan *scan)
{
	for (struct ks_publisher *p = s->publishers; p != NULL; p = p->next) {
		const char *cut = p->cut;

		for (size_t i = 0; i < s->n && cut == NULL; i++) {
			if (s->seg[i].file.budget == &p->budget)
				cut = s->seg[i].file.cut != NULL ? s->seg[i].file.cut :
				    s->seg[i].file.left_out > 0 ? "statistics" : NULL;
		}
		if (cut != NULL && !p->told)
			ks_scan_warn(scan, "the publications of user %lu were cut: too many %s%s",
			    (unsigned long)p->uid, strcmp(cut, "memory") == 0 ? "bytes of " : "", cut);
		p->told = cut != NULL;
		if (p->hidden && !p->told_hidden)
			ks_scan_warn(scan, "kstats of user %lu are not shown: their names are those of this user's "
			    "or root's", (unsigned long)p->uid);
		p->told_hidden = p->hidden;
		if (p->owned[0] != '\0' && !p->told_owned)
			ks_scan_warn(scan, "user %lu publishes under '%s', a module of the machine: such kstats are not shown",
			    (unsigned long)p->uid, p->owned);
		p->told_owned = p->owned[0] != '\0';
	}
}
