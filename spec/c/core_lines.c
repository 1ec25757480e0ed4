/*
 * core_lines.c - for linux_spec.lua: the lines of use of a file are found where they are, whatever became longer,
 * shorter or went. Prints what is not so. SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "source/linux/lines.h"

static const char *const wanted[] = { "free", "freed", "swap(in)", "last" };

static int
classify(const struct ks_text *line)
{
	for (int i = 0; i < 4; i++) {
		size_t n = strlen(wanted[i]);

		if (ks_text_size(line) > n && memcmp(line->p, wanted[i], n) == 0 &&
		    (line->p[n] == ' ' || line->p[n] == ':'))
			return i;
	}
	return KS_USELESS;
}

/* What a walk over the text finds: "free=1 last=5 ", in the order of the file. */
static const char *
found(struct ks_lines *lines, const char *text, bool kernel)
{
	static char said[2048];
	char *data = strdup(text); /* so that a sanitizer sees a step beyond its end */
	struct ks_image im = { .data = data, .len = strlen(text), .whole = true };
	struct ks_walk w = ks_walk_of(lines, &im, kernel, classify);
	size_t n = 0;

	said[0] = '\0';
	while (ks_walk_next(&w)) {
		uint64_t v = 0;

		CHECK(ks_text_u64(&w.value, &v));
		n += (size_t)snprintf(said + n, sizeof(said) - n, "%s=%" PRIu64 " ", wanted[w.what], v);
	}
	free(data);
	return said;
}

#define IS(lines, text, expected) CHECK(strcmp(found(lines, text, true), expected) == 0)

static void
check_places(void)
{
	struct ks_lines lines = { .known = false };

	IS(&lines, "free 1\nother 2\nfreed 3\nswap(in): 4 kB\nlast 5\n", "free=1 freed=3 swap(in)=4 last=5 ");
	CHECK(lines.known);
	/* The same places, longer numbers, shorter ones, more and fewer lines between. */
	IS(&lines, "free 9\nother 8\nfreed 7\nswap(in): 6 kB\nlast 5\n", "free=9 freed=7 swap(in)=6 last=5 ");
	IS(&lines, "free 1000\nother 20\nfreed 3\nswap(in): 44 kB\nlast 5", "free=1000 freed=3 swap(in)=44 last=5 ");
	IS(&lines, "free 1\nother 2\nfreed 3\nswap(in): 4 kB\nlast 5\n", "free=1 freed=3 swap(in)=4 last=5 ");
	IS(&lines, "x 1\ny 2\nfree 1\nfreed 3\nswap(in): 4\nlast 5\nz 1\n", "free=1 freed=3 swap(in)=4 last=5 ");
	IS(&lines, "free 1\nfreed 3\nswap(in): 4\nlast 18446744073709551615\n",
	    "free=1 freed=3 swap(in)=4 last=18446744073709551615 ");
	CHECK(lines.known);
}

/* The end of a part of a file may cut a number. */
static void
check_part(void)
{
	struct ks_lines lines = { .known = false };
	struct ks_image im = { .data = (char []){ "free 1\nlast 12" }, .len = 14, .whole = false };
	struct ks_walk w;

	IS(&lines, "free 1\nlast 123456\n", "free=1 last=123456 ");
	w = ks_walk_of(&lines, &im, true, classify);
	CHECK(ks_walk_next(&w) && w.what == 0);
	CHECK(!ks_walk_next(&w) && !lines.known);
}

/* One that is missing ends the walk; the next one looks at all lines again. */
static void
check_missing(void)
{
	struct ks_lines lines = { .known = false };

	IS(&lines, "free 1\nfreed 2\nlast 3\n", "free=1 freed=2 last=3 ");
	IS(&lines, "free 1\nlast 3\n", "free=1 ");
	CHECK(!lines.known && ks_lines_reach(&lines) == SIZE_MAX);
	IS(&lines, "free 1\nlast 3\n", "free=1 last=3 ");
	CHECK(lines.known);
	IS(&lines, "", "");
	IS(&lines, "", "");
	IS(&lines, "last 3\nfree 1\n", "last=3 free=1 ");
	IS(&lines, "free 1\nlast 3\n", "last=3 "); /* another order is another file */
	IS(&lines, "free 1\nlast 3\n", "free=1 last=3 ");
}

/* A key that only begins like one, or stands elsewhere in a line, is none. */
static void
check_keys(void)
{
	struct ks_lines lines = { .known = false };

	IS(&lines, "freed 2\nlast 3\n", "freed=2 last=3 ");
	IS(&lines, "freedom 2\nfree 4\nfreed 5\nlast 3\n", "freed=5 last=3 ");
	IS(&lines, "x freed 2\nfreed 7\nlast 3\n", "freed=7 last=3 ");
	IS(&lines, "freed 7\nlast", "freed=7 ");
}

/* What cannot be remembered is looked at anew each time, as are the files of a recorded tree. */
static void
check_limits(void)
{
	static char many[KS_USEFUL * 16], expected[KS_USEFUL * 16];
	struct ks_lines lines = { .known = false };
	size_t n = 0, e = 0;

	for (int i = 0; i <= KS_USEFUL; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "free %d\n", i % 10);
	for (int i = 0; i < 20; i++)
		e += (size_t)snprintf(expected + e, sizeof(expected) - e, "free=%d ", i % 10);
	CHECK(strncmp(found(&lines, many, true), expected, e) == 0);
	CHECK(!lines.known);
	CHECK(strcmp(found(&lines, "free 1\n", false), "free=1 ") == 0 && !lines.known);
	IS(&lines, "free 1\nlast 2\n", "free=1 last=2 ");
	CHECK(lines.known && ks_lines_reach(&lines) > strlen("free 1\n"));
}

int
main(void)
{
	check_places();
	check_part();
	check_missing();
	check_keys();
	check_limits();
	printf("%d checks\n", checks);
	return failures > 0;
}
