/*
 * shared.c - what processes share and may leave behind: locks of files, unix:0:locks; the shared memory, queues and
 * semaphores of System V, unix:0:sysvipc; and the keys of each user, keys:0:UID. SPDX-License-Identifier: MIT
 */
#include "source/linux/linux.h"
#include "source/linux/listing.h"

static const struct ks_file locks_file = { KS_ROOT_PROC, "locks", KS_MADE_BRIEFLY, false };
static const struct ks_file shm_file = { KS_ROOT_PROC, "sysvipc/shm", KS_MADE_BRIEFLY, false };
static const struct ks_file msg_file = { KS_ROOT_PROC, "sysvipc/msg", KS_MADE_BRIEFLY, false };
static const struct ks_file sem_file = { KS_ROOT_PROC, "sysvipc/sem", KS_MADE_BRIEFLY, false };

#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)

/* The keys of the first ones are the second words of lines. */
enum { L_POSIX, L_OFD, L_FLOCK, L_LEASE, L_DELEG, L_WAITING, L_MANDATORY };

static const struct ks_field lock_fields[] = {
	[L_POSIX] = GAUGE("posix", "POSIX", "locks of processes on ranges of files (fcntl), as lslocks shows them"),
	[L_OFD] = GAUGE("ofd", "OFDLCK", "locks of open files on ranges of files"),
	[L_FLOCK] = GAUGE("flock", "FLOCK", "locks on whole files (flock)"),
	[L_LEASE] = GAUGE("lease", "LEASE", "leases, whose holder is told before another process opens the file"),
	[L_DELEG] = GAUGE("delegation", "DELEG", "files that the NFS server has left to a client"),
	[L_WAITING] = GAUGE("waiting", NULL, "processes that wait for a lock of another one"),
	[L_MANDATORY] = GAUGE("mandatory", NULL, "locks that hold for reads and writes, too"),
	KS_FIELD_END
};

/* "1: POSIX  ADVISORY  WRITE 123 fe:00:456 0 EOF"; one that waits for it is "1: -> POSIX  ADVISORY ..." */
static void
collect_locks(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	struct ks_text line, word;

	for (size_t i = L_POSIX; i <= L_MANDATORY; i++)
		ks_have(vals, i, 0);
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line;
		size_t i;

		if (!ks_text_word(&line, &word) || !ks_text_word(&line, &word))
			continue;
		if (ks_text_is(&word, "->")) {
			ks_have_more(vals, L_WAITING, 1);
			continue;
		}
		i = ks_field_by_key(lock_fields, word.p, ks_text_size(&word), 0);
		if (i != KS_NO_FIELD)
			ks_have_more(vals, i, 1);
		else if (!ks_text_is(&word, "ACCESS"))
			ks_linux_odd_line(lx, lx->im, &whole);
		if (ks_text_word(&line, &word) && ks_text_is(&word, "MANDATORY"))
			ks_have_more(vals, L_MANDATORY, 1);
	}
}

/* Those that count things come first of each file; the keys of the others are columns, which are added up. */
enum { S_SEGMENTS, S_SEGMENT_BYTES, S_ATTACHED, S_RESIDENT, S_SWAPPED, S_QUEUES, S_QUEUE_BYTES, S_MESSAGES, S_SETS,
	S_SEMAPHORES };

static const struct ks_field ipc_fields[] = {
	[S_SEGMENTS] = GAUGE("shm_segments", NULL, "segments of shared memory, as ipcs -m shows them"),
	[S_SEGMENT_BYTES] = KS_AMOUNT_K("shm_bytes", "size", "size of all these segments"),
	[S_ATTACHED] = GAUGE("shm_attached", "nattch", "times that processes have such a segment attached"),
	[S_RESIDENT] = KS_AMOUNT_K("shm_resident", "rss", "part of the segments that is in memory"),
	[S_SWAPPED] = KS_AMOUNT_K("shm_swapped", "swap", "part of the segments that is in swap space"),
	[S_QUEUES] = GAUGE("msg_queues", NULL, "message queues, as ipcs -q shows them"),
	[S_QUEUE_BYTES] = KS_AMOUNT_K("msg_bytes", "cbytes", "bytes of messages in these queues"),
	[S_MESSAGES] = GAUGE("msg_messages", "qnum", "messages in these queues"),
	[S_SETS] = GAUGE("sem_sets", NULL, "sets of semaphores, as ipcs -s shows them"),
	[S_SEMAPHORES] = GAUGE("sem_semaphores", "nsems", "semaphores in these sets"),
	KS_FIELD_END
};

/* Counts the lines behind the heading, and adds up the columns that fields have, up to the one of the next file. */
static void
add_objects(struct ks_linux *lx, const struct ks_file *file, size_t first, size_t end, struct ks_values *vals)
{
	const struct ks_image *im = ks_linux_try(lx, file);
	struct ks_text all = im != NULL ? ks_image_text(im) : ks_text_of("", 0), heading, line, name;

	if (!ks_text_line(&all, &heading))
		return;
	for (size_t i = first; i < end; i++)
		ks_have(vals, i, 0);
	while (ks_text_line(&all, &line)) {
		struct ks_text names = heading, word;
		uint64_t v;

		ks_have_more(vals, first, 1);
		while (ks_text_word(&names, &name) && ks_text_word(&line, &word)) {
			size_t i = ks_field_by_key(ipc_fields, name.p, ks_text_size(&name), first);

			if (i >= first && i < end && ks_text_u64(&word, &v))
				ks_have_more(vals, i, v);
		}
	}
}

static int
read_ipc(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 };

	(void)unit;
	add_objects(lx, &shm_file, S_SEGMENTS, S_QUEUES, &vals);
	add_objects(lx, &msg_file, S_QUEUES, S_SETS, &vals);
	add_objects(lx, &sem_file, S_SETS, S_SEMAPHORES + 1, &vals);
	ks_fields_add(r, ipc_fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("unix", "locks", "misc", .fields = KS_TABLE(lock_fields), .collect = collect_locks,
	    .file = &locks_file, .since = "; ofd 3.15; delegation 3.13"),
	KS_NAMED_PART("unix", "sysvipc", "misc", .fields = KS_TABLE(ipc_fields), .read = read_ipc, .file = &shm_file,
	    .from = "/proc/sysvipc"),
};

KS_SUBSYSTEM(shared, parts);

/* --- keys -------------------------------------------------------------------------------- */

/* A user at his limit gets EDQUOT: his containers do not start, his tickets are not renewed. */

static const struct ks_file key_users_file = { KS_ROOT_PROC, "key-users", KS_MADE_ANYHOW, false };

enum { K_KEYS, K_KEYS_MAX, K_BYTES, K_BYTES_MAX };

static const struct ks_field key_fields[] = {
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

static const struct ks_part key_parts[] = {
	KS_NAMED_PART("keys", "@", "misc", .fields = KS_TABLE(key_fields), .collect = collect_keys,
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

KS_SUBSYSTEM(keys, key_parts, .listing = &listing);
