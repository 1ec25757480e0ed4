/*
 * mdstat.c - arrays as /proc/mdstat sums them up: md:N:mdN,status. It has what a tree without /sys lacks otherwise.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"

static const struct ks_file mdstat_file = { KS_ROOT_PROC, "mdstat", KS_MADE_ANYHOW, false };

enum { A_STATE, A_LEVEL, A_REQUIRED, A_ACTIVE, A_FAILED, A_SPARE, A_BLOCKS, A_SYNC, A_SYNC_DONE, A_SYNC_SPEED,
	A_ACTIVITY, A_SYNCED };

#define KIBIBYTES(stat, unit, desc) \
	{ KS_META_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, 1024, unit, desc), KSTAT_DATA_UINT64, NULL }

static const struct ks_field fields[] = {
	[A_STATE] = KS_TEXT_STATE("state", KSTAT_DATA_STRING, "active or inactive"),
	[A_LEVEL] = KS_TEXT("level", KSTAT_DATA_STRING, "how the array uses its disks: raid1, raid5 and so on"),
	[A_REQUIRED] = KS_GAUGE("disks_required", KSTAT_DATA_UINT64, "disks that the array needs to be complete"),
	[A_ACTIVE] = KS_GAUGE("disks_active", KSTAT_DATA_UINT64, "disks of the array that work"),
	[A_FAILED] = KS_GAUGE("disks_failed", KSTAT_DATA_UINT64, "disks of the array that failed"),
	[A_SPARE] = KS_GAUGE("disks_spare", KSTAT_DATA_UINT64, "disks of the array in reserve"),
	[A_BLOCKS] = KIBIBYTES("blocks", "KiB", "size of the array"),
	[A_SYNC] = KS_TEXT_STATE("sync", KSTAT_DATA_STRING,
	    "check or rebuild of the array that runs: recovery, resync, check"),
	[A_SYNC_DONE] = KIBIBYTES("sync_done", "KiB",
	    "data that the running check or rebuild of the array has gone over"),
	[A_SYNC_SPEED] = KIBIBYTES("sync_speed", "KiB/s",
	    "speed of the running check or rebuild of the array"),
	[A_ACTIVITY] = KS_TEXT_STATE("activity", KSTAT_DATA_STRING,
	    "what the array does: active, inactive, recovering, resync or check"),
	[A_SYNCED] = KIBIBYTES("blocks_synced", "KiB",
	    "data of the array that is the same on its disks: all, unless a check or rebuild runs"),
	KS_FIELD_END
};

/* Takes "active raid1 sdb2[2](F) sda2[0]". False if there is no state. */
static bool
parse_disks(struct ks_text line, struct ks_values *vals, struct ks_texts *texts)
{
	uint64_t failed = 0, spare = 0, active = 0;
	struct ks_text word;

	if (!ks_text_word(&line, &word))
		return false;
	ks_have_copy(vals, A_STATE, texts, word);
	while (ks_text_word(&line, &word)) {
		if (memchr(word.p, '[', ks_text_size(&word)) == NULL) {
			if (*word.p != '(')
				ks_have_copy(vals, A_LEVEL, texts, word);
			continue;
		}
		failed += memmem(word.p, ks_text_size(&word), "(F)", 3) != NULL;
		spare += memmem(word.p, ks_text_size(&word), "(S)", 3) != NULL;
		active += memchr(word.p, '(', ks_text_size(&word)) == NULL;
	}
	ks_have(vals, A_ACTIVE, active);
	ks_have(vals, A_REQUIRED, active);
	ks_have(vals, A_FAILED, failed);
	ks_have(vals, A_SPARE, spare);
	return true;
}

/*
 * Takes one of the lines below it: "195310144 blocks super 1.2 [2/1] [U_]", or
 * "[=>...]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec", or "resync=DELAYED".
 */
static void
parse_more(struct ks_text line, struct ks_values *vals, struct ks_texts *texts)
{
	struct ks_text rest = line, word, last = ks_text_of("", 0);
	uint64_t v;

	if (ks_text_u64(&rest, &v) && ks_text_word(&rest, &word) && ks_text_is(&word, "blocks"))
		ks_have(vals, A_BLOCKS, v);
	while (ks_text_word(&line, &word)) {
		const char *equal = memchr(word.p, '=', ks_text_size(&word));
		struct ks_text t = { word.p + 1, word.end };

		if (*word.p == '[' && ks_text_u64(&t, &v) && ks_text_starts(&t, "/")) {
			ks_have(vals, A_REQUIRED, v);
			t.p++;
			if (ks_text_u64(&t, &v))
				ks_have(vals, A_ACTIVE, v);
		} else if (*word.p == '(' && ks_text_u64(&t, &v) && ks_text_starts(&t, "/")) {
			ks_have(vals, A_SYNC_DONE, v);
		} else if (ks_text_starts(&word, "speed=")) {
			t.p = word.p + 6;
			if (ks_text_u64(&t, &v))
				ks_have(vals, A_SYNC_SPEED, v);
		} else if (ks_text_is(&word, "=") && ks_text_size(&last) > 0) {
			ks_have_copy(vals, A_SYNC, texts, last);
		} else if (ks_text_starts(&word, "resync=")) {
			ks_have_copy(vals, A_SYNC, texts, ks_text_of(word.p, (size_t)(equal - word.p)));
		}
		last = word;
	}
}

/* Adds what the array does, in one word, and how far it got. */
static void
have_activity(struct ks_values *vals)
{
	bool syncs = (vals->have >> A_SYNC & 1) != 0;

	if (syncs)
		ks_have_text(vals, A_ACTIVITY, strcmp(vals->v[A_SYNC].s, "recovery") == 0 ? "recovering" : vals->v[A_SYNC].s);
	else if ((vals->have >> A_STATE & 1) != 0)
		ks_have_text(vals, A_ACTIVITY, vals->v[A_STATE].s);
	if ((vals->have >> A_BLOCKS & 1) != 0)
		ks_have(vals, A_SYNCED, (vals->have >> A_SYNC_DONE & 1) != 0 ? vals->v[A_SYNC_DONE].u : syncs ? 0 :
		    vals->v[A_BLOCKS].u);
}

static void
collect_status(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct ks_text all = { line.end, lx->im->data + lx->im->len };

	if (!parse_disks(line, vals, &lx->texts))
		ks_linux_odd_line(lx, lx->im, &line);
	(void)ks_text_line(&all, &line);
	while (ks_text_line(&all, &line) && !ks_text_empty(&line) && ks_text_blank(*line.p))
		parse_more(line, vals, &lx->texts);
	/* The disks of an array that does not run do nothing for it, whatever their number. */
	if ((vals->have >> A_STATE & 1) != 0 && strcmp(vals->v[A_STATE].s, "inactive") == 0) {
		vals->have &= ~(1ULL << A_REQUIRED);
		ks_have(vals, A_ACTIVE, 0);
	}
	have_activity(vals);
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("md", "@,status", "device_state", .fields = KS_TABLE(fields), .collect = collect_status,
	    .from = "/proc/mdstat"),
};

/* --- scanning ------------------------------------------------------------------------------ */

/* Removes "md6 :" from a line. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text name, colon;

	if (!ks_text_starts(line, "md") || !ks_text_word(line, &name) || !ks_text_word(line, &colon) ||
	    !ks_text_is(&colon, ":"))
		return 0;
	return ks_listing_key(key, &name);
}

/* Lines about an array begin with blanks. */
static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	(void)im;
	return ks_text_starts(line, "Personalities") || ks_text_starts(line, "unused devices") ||
	    ks_text_starts(line, "read_ahead") || (ks_text_plain(line) && ks_text_blank(*line->p));
}

static int
set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	const char *p = unit->key + strcspn(unit->key, "0123456789");
	uint64_t number;

	(void)lx;
	if (ks_scan_u64(&p, unit->key + strlen(unit->key), &number) == 0 && number <= INT32_MAX)
		unit->instance = (int)number;
	unit->parts = 1;
	return 0;
}

static const struct ks_listing listing = { &mdstat_file, take_key, is_heading, NULL, set_up };

KS_SUBSYSTEM(mdstat, parts, .listing = &listing, .on_events = true);
