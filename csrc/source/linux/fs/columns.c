/* columns.c - see columns.h. SPDX-License-Identifier: MIT */
#include "source/linux/fs/columns.h"

#define MOST_COLUMNS 16

bool
ks_columns_line(const struct ks_image *im, struct ks_text key, struct ks_text *rest)
{
	struct ks_text all = ks_text_of(im->data, im->len), word;

	while (ks_text_line(&all, rest)) {
		if (ks_text_word(rest, &word) && ks_text_size(&word) == ks_text_size(&key) &&
		    memcmp(word.p, key.p, ks_text_size(&key)) == 0)
			return true;
	}
	return false;
}

void
ks_columns_collect(const struct ks_image *im, const struct ks_field *table, struct ks_values *vals,
    struct ks_text *odd)
{
	struct ks_text before = { NULL, NULL };
	uint64_t v[MOST_COLUMNS];
	size_t n = 0;

	*odd = before;
	for (size_t i = 0; table[i].meta.stat != NULL; i++) {
		struct ks_text key = ks_text_of(table[i].key, strlen(table[i].key)), word, rest;
		uint64_t column;

		(void)ks_text_word(&key, &word);
		/* Statistics of one line follow each other in a table. */
		if (before.p == NULL || ks_text_size(&before) != ks_text_size(&word) ||
		    memcmp(before.p, word.p, ks_text_size(&word)) != 0) {
			bool found = ks_columns_line(im, word, &rest);

			n = found ? ks_text_numbers(&rest, v, MOST_COLUMNS) : 0;
			if (found && n == 0 && odd->p == NULL)
				*odd = rest;
			before = word;
		}
		while (ks_text_u64(&key, &column) && column < n)
			ks_have_more(vals, i, v[column]);
	}
}
