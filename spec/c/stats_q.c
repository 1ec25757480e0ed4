/*
 * stats_q.c - Q numbers as qmath(3) has them, the two examples of that page among them, and as statistics.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/arb.h>
#include <sys/qmath.h>
#include <sys/sbuf.h>
#include <sys/stats.h>

#include "check.h"

static bool
text_is(u64q_t q, int prec, const char *text)
{
	char s[Q_MAXSTRLEN(q, 10)];

	return Q_TOSTR(q, prec, 10, s, sizeof(s)) != NULL && strcmp(s, text) == 0;
}

static void
examples(void)
{
	u64q_t a = 0, pi = 0, r = 0;
	s32q_t s = 0;

	CHECK(Q_INI(&a, 0, 0, 16) == 0 && Q_INI(&pi, 3, 14159, 16) == 0 && Q_INI(&r, 4, 2, 16) == 0);
	CHECK(Q_QCLONEQ(&a, r) == 0 && Q_QMULQ(&a, r) == 0 && Q_QMULQ(&a, pi) == 0);
	CHECK(text_is(a, 2, "55.42") && text_is(r, 3, "4.200") && text_is(pi, 0, "3"));
	CHECK(Q_INI(&s, 0, 0, 8) == 0 && Q_QFRACI(&s, 5, 3) == 0);
	CHECK(s == 0xd53 && Q_NIBITS(s) == 20 && Q_NFBITS(s) == 8 && Q_GIVAL(s) == 1 && Q_GFVAL(s) == 0xaa);
}

static void
edges(void)
{
	s8q_t small = 0;
	u64q_t u = 0;
	s64q_t a = 0, b = 0;

	CHECK(Q_INI(&small, -1, 5, 2) == 0 && Q_LTZ(small) && Q_Q2D(small) == -1.5 && Q_GIVAL(small) == -1);
	CHECK(Q_QADDI(&small, 100) == EOVERFLOW && Q_QDIVI(&small, 0) == EINVAL && Q_Q2D(small) == -1.5);
	CHECK(Q_INI(&u, -1, 0, 2) == EOVERFLOW && Q_INI(&u, 1, 0, 64) == EOVERFLOW && Q_NFBITS(u) == 61);
	CHECK(Q_INI(&a, -2, 25, 4) == 0 && Q_INI(&b, 3, 5, 48) == 0 && Q_QLTQ(a, b) && Q_QNEQ(a, b) && Q_QGEQ(b, a));
	CHECK(Q_QADDQ(&a, b) == 0 && Q_Q2D(a) == 1.25 && Q_QSUBQ(&a, b) == 0 && Q_Q2D(a) == -2.25);
	CHECK(Q_QDIVQ(&b, a) == 0 && Q_Q2D(b) < -1.55555 && Q_Q2D(b) > -1.55556 && Q_QMULI(&a, -2) == 0 && Q_Q2F(a) == 4.5F);
}

static void
statistic(void)
{
	struct voistatspec vss[] = { STATS_VSS_QSUM(16), STATS_VSS_QMAX(16) };
	struct statsblob *sb;
	s64q_t q = 0, max = 0;
	int tpl = stats_tpl_alloc("q numbers", 0);

	CHECK(stats_tpl_add_voistats((uint32_t)tpl, 0, "x", VSD_DTYPE_Q_S64, NVSS(vss), vss, 0) == 0);
	sb = stats_blob_alloc((uint32_t)tpl, 0);
	CHECK(sb != NULL && Q_INI(&q, -1, 25, 16) == 0 && stats_voi_update_abs_sq64(sb, 0, q) == 0);
	CHECK(Q_QCPYVALI(&q, 7) == 0 && stats_voi_update_abs_sq64(sb, 0, q) == 0);
	CHECK(stats_voistat_fetch_sq64(sb, 0, VS_STYPE_MAX, &max) == 0 && Q_QEQ(max, q));
	CHECK(stats_voistat_fetch_sq64(sb, 0, VS_STYPE_SUM, &max) == 0 && Q_Q2D(max) == 5.75);
	stats_blob_destroy(sb);
}

int
main(void)
{
	examples();
	edges();
	statistic();
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
