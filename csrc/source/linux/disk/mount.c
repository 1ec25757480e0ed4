/* mount.c - where block devices are mounted; see disk.h. SPDX-License-Identifier: MIT */
#include "source/linux/disk/disk.h"

static const struct ks_file mountinfo_file = { KS_ROOT_PROC, "self/mountinfo", KS_MADE_ANYHOW, false };

/* A line of mountinfo: "36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw". */
struct mount {
	struct ks_text number, root, point, source;
};

static bool
parse_mount(struct ks_text line, struct mount *m)
{
	struct ks_text word;

	if (!ks_text_word(&line, &word) || !ks_text_word(&line, &word) ||
	    !ks_text_word(&line, &m->number) || !ks_text_word(&line, &m->root) ||
	    !ks_text_word(&line, &m->point))
		return false;
	/* Any number of fields, then a dash. */
	do {
		if (!ks_text_word(&line, &word))
			return false;
	} while (!ks_text_is(&word, "-"));
	return ks_text_word(&line, &word) && ks_text_word(&line, &m->source);
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Copies a path, in which blanks, newlines and backslashes are written as \040 and so on. */
static void
unescape(const struct ks_text *from, char *to, size_t size)
{
	const char *p = from->p;
	size_t n = 0;

	while (p < from->end && n + 1 < size) {
		if (*p == '\\' && from->end - p >= 4 && p[1] <= '3' && is_octal(p[1]) &&
		    is_octal(p[2]) && is_octal(p[3])) {
			to[n++] = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			to[n++] = *p++;
		}
	}
	to[n] = '\0';
}

bool
ks_linux_mount_point(struct ks_linux *lx, const char *number, const char *source, char *to,
    size_t size)
{
	const struct ks_image *im = ks_linux_try(lx, &mountinfo_file);
	struct ks_text all, line, found = { NULL, NULL };
	struct mount m;

	if (im == NULL)
		return false;
	all = ks_text_of(im->data, im->len);
	while (ks_text_line(&all, &line)) {
		if (!parse_mount(line, &m)) {
			if (!ks_text_empty(&line))
				ks_linux_odd_line(lx, im, &line);
			continue;
		}
		if (!((*number != '\0' && ks_text_is(&m.number, number)) ||
		    (*source != '\0' && ks_text_is(&m.source, source))))
			continue;
		if (found.p == NULL || ks_text_is(&m.root, "/"))
			found = m.point;
		if (ks_text_is(&m.root, "/"))
			break;
	}
	if (found.p == NULL)
		return false;
	unescape(&found, to, size);
	return true;
}
