/*
 * keys.c - the keys that the kernel keeps for each user, from /proc/key-users: keys:0:UID. A user at his limit gets
 * EDQUOT: his containers do not start, his tickets are not renewed. SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"

static const struct ks_file key_users_file = { KS_ROOT_PROC, "key-users", KS_MADE_ANYHOW, false };

enum { K_KEYS, K_KEYS_MAX, K_BYTES, K_BYTES_MAX };

static const struct ks_field fields[] = {
	[K_KEYS] = KS_GAUGE("keys", KSTAT_DATA_UINT64, "keys that count for the limit of their user"),
	[K_KEYS_MAX] = KS_GAUGE("keys_max", KSTAT_DATA_UINT64, "how many there may be"),
	[K_BYTES] = KS_AMOUNT("bytes", "size of what these keys hold"),
	[K_BYTES_MAX] = KS_AMOUNT("bytes_max", "how much that may be"),
	KS_FIELD_END
};

/* Takes "3/200". */
static bool
take_pair(struct ks_text *line, uint64_t pair[2])
{
	ks_text_skip(line);
	if (!ks_text_u64(line, &pair[0]) || !ks_text_starts(line, "/"))
		return false;
	line->p++;
	return ks_text_u64(line, &pair[1]);
}

/* A line is "UID: usage keys/instantiated counted/limit bytes/limit". */
static void
collect_keys(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct ks_text whole = line;
	uint64_t usage, made[2], keys[2], bytes[2];

	if (!ks_text_u64(&line, &usage) || !take_pair(&line, made) || !take_pair(&line, keys) ||
	    !take_pair(&line, bytes)) {
		ks_linux_odd_line(lx, lx->im, &whole);
		return;
	}
	ks_have(vals, K_KEYS, keys[0]);
	ks_have(vals, K_KEYS_MAX, keys[1]);
	ks_have(vals, K_BYTES, bytes[0]);
	ks_have(vals, K_BYTES_MAX, bytes[1]);
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("keys", "@", "misc", .fields = KS_TABLE(fields), .collect = collect_keys,
	    .from = "/proc/key-users", .title = "keys:0:UID"),
};

/* Removes the number of the user, behind which a colon stands. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text uid;

	if (!ks_text_word(line, &uid) || uid.end[-1] != ':')
		return 0;
	uid.end--;
	return ks_text_empty(&uid) ? 0 : ks_listing_key(key, &uid);
}

static const struct ks_listing listing = { &key_users_file, take_key, NULL, NULL, NULL };

KS_SUBSYSTEM(keys, parts, .listing = &listing);
