/*
 * match.c - patterns of devices, such as "da,scsi". SPDX-License-Identifier: MIT
 */
#include "devstat/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "devstat/errbuf.h"

#define MAX_ITEMS 3

/* The first of these words that an item starts with applies, so their order matters. */
static const struct devstat_match_table words[] = {
	{ "da", DEVSTAT_TYPE_DIRECT, DEVSTAT_MATCH_TYPE },
	{ "cd", DEVSTAT_TYPE_CDROM, DEVSTAT_MATCH_TYPE },
	{ "scsi", DEVSTAT_TYPE_IF_SCSI, DEVSTAT_MATCH_IF },
	{ "ide", DEVSTAT_TYPE_IF_IDE, DEVSTAT_MATCH_IF },
	{ "other", DEVSTAT_TYPE_IF_OTHER, DEVSTAT_MATCH_IF },
	{ "worm", DEVSTAT_TYPE_WORM, DEVSTAT_MATCH_TYPE },
	{ "sa", DEVSTAT_TYPE_SEQUENTIAL, DEVSTAT_MATCH_TYPE },
	{ "pass", DEVSTAT_TYPE_PASS, DEVSTAT_MATCH_PASS },
	{ "optical", DEVSTAT_TYPE_OPTICAL, DEVSTAT_MATCH_TYPE },
	{ "array", DEVSTAT_TYPE_STORARRAY, DEVSTAT_MATCH_TYPE },
	{ "changer", DEVSTAT_TYPE_CHANGER, DEVSTAT_MATCH_TYPE },
	{ "scanner", DEVSTAT_TYPE_SCANNER, DEVSTAT_MATCH_TYPE },
	{ "printer", DEVSTAT_TYPE_PRINTER, DEVSTAT_MATCH_TYPE },
	{ "floppy", DEVSTAT_TYPE_FLOPPY, DEVSTAT_MATCH_TYPE },
	{ "proc", DEVSTAT_TYPE_PROCESSOR, DEVSTAT_MATCH_TYPE },
	{ "comm", DEVSTAT_TYPE_COMM, DEVSTAT_MATCH_TYPE },
	{ "enclosure", DEVSTAT_TYPE_ENCLOSURE, DEVSTAT_MATCH_TYPE },
};

const struct devstat_match_table *
ks_devstat_word(const char *item, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].match_str);

		if (len >= n && strncasecmp(item, words[i].match_str, n) == 0)
			return &words[i];
	}
	return NULL;
}

const char *
ks_devstat_type_word(devstat_type_flags type, devstat_match_flags field)
{
	devstat_type_flags mask = field == DEVSTAT_MATCH_IF ? DEVSTAT_TYPE_IF_MASK :
	    DEVSTAT_TYPE_MASK;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].match_field == field && words[i].type == (type & mask))
			return words[i].match_str;
	}
	return NULL;
}

/* Returns the next non-empty item at *p and stores its length in *len; NULL at the end. */
static const char *
next_item(const char **p, size_t *len)
{
	const char *item = *p + strspn(*p, ",");

	*len = strcspn(item, ",");
	*p = item + *len;
	return *len != 0 ? item : NULL;
}

/* Adds one item to the pattern. */
static int
add_item(struct devstat_match *m, const char *item, size_t len)
{
	const struct devstat_match_table *word;
	size_t skip = 0, shown = len;

	while (skip < len && isspace((unsigned char)item[skip]))
		skip++;
	/* An item of white space is quoted whole in the message. */
	if (skip < len) {
		while (isspace((unsigned char)item[shown - 1]))
			shown--;
	}
	word = ks_devstat_word(item + skip, shown - skip);
	if (word == NULL)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: unknown match item \"%.*s\"",
		    shown < DEVSTAT_ERRBUF_SIZE ? (int)shown : DEVSTAT_ERRBUF_SIZE, item);
	if (m->match_fields & word->match_field)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: cannot have more than one "
		    "match item in a single category");
	m->match_fields = (devstat_match_flags)(m->match_fields | word->match_field);
	m->device_type = (devstat_type_flags)(m->device_type | word->type);
	m->num_match_categories++;
	return 0;
}

int
devstat_buildmatch(char *match_str, struct devstat_match **matches, int *num_matches)
{
	struct devstat_match m = { DEVSTAT_MATCH_NONE, DEVSTAT_TYPE_DIRECT, 0 };
	const char *p, *item;
	size_t len, items = 0, n;

	devstat_errbuf[0] = '\0';
	if (match_str == NULL)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: no match expression");
	if (matches == NULL || num_matches == NULL || *num_matches < 0)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: no match list");
	for (p = match_str; next_item(&p, &len) != NULL;) {
		if (++items > MAX_ITEMS)
			return ks_devstat_fail(EINVAL,
			    "devstat_buildmatch: too many type arguments");
	}
	for (p = match_str; (item = next_item(&p, &len)) != NULL;) {
		if (add_item(&m, item, len) != 0)
			return -1;
	}
	if (*num_matches == 0)
		*matches = NULL;
	n = (size_t)*num_matches; /* the caller keeps no capacity */
	if (*num_matches == INT32_MAX || !KS_RESERVE(*matches, n, n + 1))
		return ks_devstat_fail(ENOMEM, "devstat_buildmatch: out of memory");
	(*matches)[(*num_matches)++] = m;
	return 0;
}
