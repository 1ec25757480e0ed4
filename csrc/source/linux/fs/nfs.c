/*
 * nfs.c - mounts of NFS. mntinfo and the I/O of illumos, made of self/mountinfo and self/mountstats; and what Linux
 * counts for each mount: events, bytes, the transport, and for each operation calls, times and bytes (op_*).
 * Several mounts of one file system share their counts and are one unit.
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <nfs/nfs_clnt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "model/raw_layout.h"
#include "source/linux/described.h"
#include "source/linux/fs/mount.h"

#define MSEC 1000000ULL

static const struct ks_file mountstats_file = { KS_ROOT_PROC, "self/mountstats", KS_MADE_ANYHOW, false };

/* The statistics of mountstats: the columns of "events:", then those of "bytes:", then all else. */
enum { S_INODEREVALIDATE, S_DENTRYREVALIDATE, S_DATAINVALIDATE, S_ATTRINVALIDATE, S_VFSOPEN,
	S_VFSLOOKUP, S_VFSACCESS, S_VFSUPDATEPAGE, S_VFSREADPAGE, S_VFSREADPAGES, S_VFSWRITEPAGE,
	S_VFSWRITEPAGES, S_VFSGETDENTS, S_VFSSETATTR, S_VFSFLUSH, S_VFSFSYNC, S_VFSLOCK, S_VFSRELEASE,
	S_CONGESTIONWAIT, S_SETATTRTRUNC, S_EXTENDWRITE, S_SILLYRENAME, S_SHORTREAD, S_SHORTWRITE, S_DELAY,
	S_PNFS_READ, S_PNFS_WRITE, S_NORMALREADBYTES, S_NORMALWRITTENBYTES, S_DIRECTREADBYTES,
	S_DIRECTWRITTENBYTES, S_SERVERREADBYTES, S_SERVERWRITTENBYTES, S_READPAGES, S_WRITEPAGES, S_AGE,
	S_TRANSPORTS, S_BINDS, S_CONNECTS, S_CONNECT_TIME, S_IDLE_TIME, S_SENDS, S_RECEIVES, S_BAD_XIDS,
	S_REQ_U, S_BKLOG_U, S_SLOTS, S_SENDING_U, S_PENDING_U, S_PROTOCOL, S_DEVICE, S_POINT };

#define COUNT(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)
#define SECONDS(stat, kind, type, desc) KS_UNITS(stat, kind, type, KSTAT_DATA_UINT64, "s", desc)

static const struct ks_field mount_fields[] = {
	[S_INODEREVALIDATE] = COUNT("inoderevalidate", "attributes that were checked with the server"),
	[S_DENTRYREVALIDATE] = COUNT("dentryrevalidate", "names that were checked with the server"),
	[S_DATAINVALIDATE] = COUNT("datainvalidate", "files whose cached data were dropped"),
	[S_ATTRINVALIDATE] = COUNT("attrinvalidate", "files whose cached attributes were dropped"),
	[S_VFSOPEN] = COUNT("vfsopen", "files and directories opened"),
	[S_VFSLOOKUP] = COUNT("vfslookup", "names looked up in directories"),
	[S_VFSACCESS] = COUNT("vfsaccess", "permissions checked"),
	[S_VFSUPDATEPAGE] = COUNT("vfsupdatepage", "changes of a page in the cache"),
	[S_VFSREADPAGE] = COUNT("vfsreadpage", "reads of one page"),
	[S_VFSREADPAGES] = COUNT("vfsreadpages", "reads of a group of pages"),
	[S_VFSWRITEPAGE] = COUNT("vfswritepage", "writes of one page"),
	[S_VFSWRITEPAGES] = COUNT("vfswritepages", "writes of a group of pages"),
	[S_VFSGETDENTS] = COUNT("vfsgetdents", "readings of directories"),
	[S_VFSSETATTR] = COUNT("vfssetattr", "changes of attributes"),
	[S_VFSFLUSH] = COUNT("vfsflush", "flushes when a file was closed"),
	[S_VFSFSYNC] = COUNT("vfsfsync", "files and directories that fsync() was called for"),
	[S_VFSLOCK] = COUNT("vfslock", "locks of files requested"),
	[S_VFSRELEASE] = COUNT("vfsrelease", "files and directories closed"),
	[S_CONGESTIONWAIT] = COUNT("congestionwait",
	    "waits for a server that was busy (not counted by today's kernels)"),
	[S_SETATTRTRUNC] = COUNT("setattrtrunc", "files cut to a size"),
	[S_EXTENDWRITE] = COUNT("extendwrite", "files that grew by a write"),
	[S_SILLYRENAME] = COUNT("sillyrename", "files removed while open, and so renamed"),
	[S_SHORTREAD] = COUNT("shortread", "reads for which the server returned less than it was asked for"),
	[S_SHORTWRITE] = COUNT("shortwrite", "writes of which the server wrote less than it was asked for"),
	[S_DELAY] = COUNT("delay", "answers of the server that it needs more time"),
	[S_PNFS_READ] = COUNT("pnfs_read", "reads from data servers (pNFS)"),
	[S_PNFS_WRITE] = COUNT("pnfs_write", "writes to data servers (pNFS)"),
	[S_NORMALREADBYTES] = KS_BYTES("normalreadbytes", "bytes that programs read through the cache"),
	[S_NORMALWRITTENBYTES] = KS_BYTES("normalwrittenbytes", "bytes that programs wrote through the cache"),
	[S_DIRECTREADBYTES] = KS_BYTES("directreadbytes", "bytes that programs read with O_DIRECT"),
	[S_DIRECTWRITTENBYTES] = KS_BYTES("directwrittenbytes", "bytes that programs wrote with O_DIRECT"),
	[S_SERVERREADBYTES] = KS_BYTES("serverreadbytes", "bytes read from the server"),
	[S_SERVERWRITTENBYTES] = KS_BYTES("serverwrittenbytes", "bytes written to the server"),
	[S_READPAGES] = KS_UNITS("readpages", KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages",
	    "pages read from the server"),
	[S_WRITEPAGES] = KS_UNITS("writepages", KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages",
	    "pages written to the server"),
	[S_AGE] = SECONDS("age", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "time since it was mounted"),
	[S_TRANSPORTS] = KS_GAUGE("transports", KSTAT_DATA_UINT32,
	    "connections to the server, of which the following are sums"),
	[S_BINDS] = COUNT("binds", "ports asked of the server's rpcbind"),
	[S_CONNECTS] = COUNT("connects", "connections made"),
	[S_CONNECT_TIME] = SECONDS("connect_time", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time spent connecting"),
	[S_IDLE_TIME] = SECONDS("idle_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL,
	    "time since the last request on the connection that had one last"),
	[S_SENDS] = COUNT("sends", "requests sent"),
	[S_RECEIVES] = COUNT("receives", "replies received"),
	[S_BAD_XIDS] = COUNT("bad_xids", "replies to no request"),
	[S_REQ_U] = COUNT("requests_pending", "requests under way, summed over the requests sent"),
	[S_BKLOG_U] = COUNT("backlog", "requests that waited for a slot, summed over the requests sent"),
	[S_SLOTS] = KS_GAUGE("max_slots", KSTAT_DATA_UINT32, "most requests that were under way at a time"),
	[S_SENDING_U] = COUNT("sending", "requests that waited to be sent, summed over the requests sent"),
	[S_PENDING_U] = COUNT("pending", "requests that waited for a reply, summed over the requests sent"),
	[S_PROTOCOL] = KS_TEXT("protocol", KSTAT_DATA_STRING, "protocol of the transport"),
	[S_DEVICE] = KS_TEXT("device", KSTAT_DATA_STRING, "server and path"),
	[S_POINT] = KS_TEXT("mount_point", KSTAT_DATA_STRING, "where it is mounted first"),
	KS_FIELD_END
};

/* ks_unit.extra: the first mount of a file system. */
struct nfs {
	struct ks_mount mount;
	size_t at, len; /* its lines in mountstats */
	uint64_t seq;   /* ks_image.seq of the image that they are in */
	char text[]; /* the line of mountinfo */
};

struct state {
	uint64_t mounts; /* ks_linux_mounts_changed() */
	uint64_t seq; /* of the image of mountstats in which the units' lines were found */
};

/* --- mntinfo ---------------------------------------------------------------------------------- */

/* Flags of mik_flags on illumos. */
#define MI_HARD 0x1
#define MI_NOAC 0x10
#define MI_NOCTO 0x20
#define MI_LLOCK 0x80

/* The number of a security flavor by the name that the option sec= has. */
static uint32_t
security(const struct ks_text *options)
{
	static const struct {
		const char *name;
		uint32_t number;
	} flavors[] = { { "sys", 1 }, { "krb5", 390003 }, { "krb5i", 390004 }, { "krb5p", 390005 } };
	struct ks_text value;

	for (size_t i = 0; i < sizeof(flavors) / sizeof(*flavors); i++) {
		if (ks_linux_option(*options, "sec", &value) && ks_text_is(&value, flavors[i].name))
			return flavors[i].number;
	}
	return 0;
}

/* The server of "server:/path"; an address of IPv6 is in brackets. */
static struct ks_text
server_of(const struct ks_text *device)
{
	struct ks_text server = *device;
	const char *end;

	if (server.p < server.end && *server.p == '[' && (end = memchr(server.p, ']', ks_text_size(&server))) != NULL)
		return (struct ks_text){ server.p + 1, end };
	end = memchr(server.p, ':', ks_text_size(&server));
	return (struct ks_text){ server.p, end != NULL ? end : server.end };
}

/* The flags of the mount, as MI_*. */
static uint32_t
flags_of(const struct ks_text *options)
{
	struct ks_text value;
	uint32_t flags = (ks_linux_option(*options, "hard", NULL) ? MI_HARD : 0) |
	    (ks_linux_option(*options, "noac", NULL) ? MI_NOAC : 0) |
	    (ks_linux_option(*options, "nocto", NULL) ? MI_NOCTO : 0);

	if (ks_linux_option(*options, "local_lock", &value) && ks_text_is(&value, "all"))
		flags |= MI_LLOCK;
	return flags;
}

static void
put_text(struct ks_record *r, const struct ks_raw_layout *l, const char *name, const struct ks_text *t, size_t room)
{
	/* The last byte of the room stays the NUL. */
	ks_raw_put(r, l, name, &(struct ks_value){ .kind = KS_VALUE_STRING, .str = t->p,
	    .len = (uint32_t)(ks_text_size(t) < room ? ks_text_size(t) : room - 1) });
}

static int
read_mntinfo(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const struct {
		const char *option, *name;
	} map[] = {
		{ "vers", "mik_vers" }, { "rsize", "mik_curread" }, { "wsize", "mik_curwrite" }, { "timeo", "mik_timeo" },
		{ "retrans", "mik_retrans" }, { "acregmin", "mik_acregmin" }, { "acregmax", "mik_acregmax" },
		{ "acdirmin", "mik_acdirmin" }, { "acdirmax", "mik_acdirmax" },
	};
	const struct ks_raw_layout *l = ks_raw_layout_find("nfs", "mntinfo");
	const struct nfs *nfs = unit->extra;
	const struct ks_text *o = &nfs->mount.super;
	struct ks_text value, server = server_of(&nfs->mount.source);
	uint64_t v;

	if (!ks_raw_start(r, l, !lx->for_program))
		return 0;
	if (ks_linux_option(*o, "proto", &value))
		put_text(r, l, "mik_proto", &value, KNC_STRSIZE);
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if (ks_linux_option(*o, map[i].option, &value) && ks_text_u64(&value, &v) && v <= UINT32_MAX)
			ks_raw_put_u64(r, l, map[i].name, v);
	}
	ks_raw_put_u64(r, l, "mik_flags", flags_of(o));
	ks_raw_put_u64(r, l, "mik_secmod", security(o));
	put_text(r, l, "mik_curserver", &server, sizeof(((struct mntinfo_kstat *)0)->mik_curserver));
	return 0;
}

/* --- mountstats ------------------------------------------------------------------------------- */

/* Parses "device SOURCE mounted on POINT with fstype TYPE statvers=1.1"; false for other lines. */
static bool
parse_heading(struct ks_text line, struct ks_text *point, struct ks_text *type)
{
	struct ks_text word;

	return ks_text_word(&line, &word) && ks_text_is(&word, "device") && ks_text_word(&line, &word) &&
	    ks_text_word(&line, &word) && ks_text_is(&word, "mounted") && ks_text_word(&line, &word) &&
	    ks_text_word(&line, point) && ks_text_word(&line, &word) && ks_text_word(&line, &word) &&
	    ks_text_word(&line, type);
}

/* Notes that the lines from p on are those of the mount at this point. */
static struct nfs *
begin_lines(struct ks_units *units, const struct ks_image *im, const struct ks_text *point, const struct ks_text *type,
    const char *p)
{
	for (uint32_t i = 0; i < units->n; i++) {
		struct nfs *nfs = units->v[i].extra;

		if (!units->v[i].alive || !ks_text_equal(&nfs->mount.point, point) || !ks_text_equal(&nfs->mount.type, type))
			continue;
		nfs->at = (size_t)(p - im->data);
		nfs->seq = im->seq;
		return nfs;
	}
	return NULL;
}

/* Finds the lines of all units in a new image of mountstats. */
static void
find_lines(struct ks_units *units, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, point, type;
	struct nfs *nfs = NULL;

	while (ks_text_line(&all, &line)) {
		if (!ks_text_starts(&line, "device "))
			continue;
		if (nfs != NULL)
			nfs->len = (size_t)(line.p - im->data) - nfs->at;
		nfs = NULL;
		if (parse_heading(line, &point, &type) && ks_text_starts(&type, "nfs"))
			nfs = begin_lines(units, im, &point, &type, all.p);
	}
	if (nfs != NULL)
		nfs->len = im->len - nfs->at;
}

/* The lines of a unit in mountstats; NULL with errno and message. */
static const struct ks_image *
lines_of(struct ks_linux *lx, const struct ks_unit *unit, struct ks_text *lines)
{
	const struct ks_image *im = ks_linux_image(lx, &mountstats_file);
	struct state *s = lx->sub[KS_SUB_nfs].state;
	const struct nfs *nfs = unit->extra;

	if (im == NULL)
		return NULL;
	if (s->seq != im->seq)
		find_lines(&lx->sub[KS_SUB_nfs].units, im);
	s->seq = im->seq;
	if (nfs->seq != im->seq) {
		(void)ks_linux_gone(unit);
		return NULL;
	}
	*lines = ks_text_of(im->data + nfs->at, nfs->len);
	return im;
}

/* Takes the columns of numbers from a line; a column that is negative has no value and is 0. */
static size_t
columns_of(struct ks_text *line, uint64_t *v, size_t max)
{
	struct ks_text word;
	size_t n = 0;

	while (n < max && ks_text_word(line, &word)) {
		if (!ks_text_u64(&word, &v[n])) {
			if (*word.p != '-')
				break;
			v[n] = 0;
		}
		n++;
	}
	return n;
}

/* Adds a connection, "tcp 832 0 1 ...". */
static void
add_transport(struct ks_values *vals, struct ks_text *line, struct ks_text *protocol)
{
	static const int8_t connected[] = { S_BINDS, S_CONNECTS, S_CONNECT_TIME, S_IDLE_TIME, S_SENDS, S_RECEIVES,
		S_BAD_XIDS, S_REQ_U, S_BKLOG_U, S_SLOTS, S_SENDING_U, S_PENDING_U };
	static const int8_t connectionless[] = { S_BINDS, S_SENDS, S_RECEIVES, S_BAD_XIDS, S_REQ_U, S_BKLOG_U, S_SLOTS,
		S_SENDING_U, S_PENDING_U };
	const int8_t *feeds = connected;
	size_t most = sizeof(connected), n;
	uint64_t v[sizeof(connected)], port;

	if (!ks_text_word(line, protocol))
		return;
	if (ks_text_is(protocol, "udp")) {
		feeds = connectionless;
		most = sizeof(connectionless);
	} else if (ks_text_is(protocol, "rdma")) {
		most = 9; /* what follows is of RDMA alone */
	}
	if (!ks_text_is(protocol, "local") && !ks_text_u64(line, &port))
		return;
	n = columns_of(line, v, most);
	for (size_t i = 0; i < n; i++) {
		size_t field = (size_t)feeds[i];
		bool have = (vals->have >> field & 1) != 0;

		if (field == S_IDLE_TIME || field == S_SLOTS) {
			if (!have || (field == S_SLOTS ? v[i] > vals->v[field].u : v[i] < vals->v[field].u))
				ks_have(vals, field, v[i]);
		} else {
			ks_have_more(vals, field, v[i]);
		}
	}
	ks_have_more(vals, S_TRANSPORTS, 1);
}

static void
add_columns(struct ks_values *vals, size_t first, struct ks_text *line, size_t most)
{
	uint64_t v;

	for (size_t i = 0; i < most && ks_text_u64(line, &v); i++)
		ks_have(vals, first + i, v);
}

static int
read_mount(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct nfs *nfs = unit->extra;
	struct ks_values vals = { .have = 0 };
	struct ks_text lines, line, key, protocol = { "", "" };
	char device[512], point[512], proto[16];

	if (lines_of(lx, unit, &lines) == NULL)
		return -1;
	while (ks_text_line(&lines, &line)) {
		if (!ks_text_word(&line, &key) || ks_text_is(&key, "per-op"))
			continue;
		if (ks_text_is(&key, "age:"))
			add_columns(&vals, S_AGE, &line, 1);
		else if (ks_text_is(&key, "events:"))
			add_columns(&vals, S_INODEREVALIDATE, &line, S_NORMALREADBYTES - S_INODEREVALIDATE);
		else if (ks_text_is(&key, "bytes:"))
			add_columns(&vals, S_NORMALREADBYTES, &line, S_AGE - S_NORMALREADBYTES);
		else if (ks_text_is(&key, "xprt:"))
			add_transport(&vals, &line, &protocol);
	}
	ks_name_set(proto, sizeof(proto), protocol.p, ks_text_size(&protocol));
	if (proto[0] != '\0')
		ks_have_text(&vals, S_PROTOCOL, proto);
	(void)ks_linux_unescape(&nfs->mount.source, device, sizeof(device));
	(void)ks_linux_unescape(&nfs->mount.point, point, sizeof(point));
	ks_have_text(&vals, S_DEVICE, device);
	ks_have_text(&vals, S_POINT, point);
	ks_fields_add(r, mount_fields, &vals);
	return 0;
}

/* --- operations -------------------------------------------------------------------------------- */

/* The columns of a line "READ: 1298 1298 0 207680 1210292152 6 79386 79407 0". */
enum { O_COUNT, O_TRANSMISSIONS, O_TIMEOUTS, O_SENT, O_RECEIVED, O_QUEUE, O_RTT, O_TIME, O_ERRORS, O_COLUMNS };

/*
 * Takes the next line of an operation; false at the end. *n: its columns. Lines begin behind "per-op statistics",
 * which *inside remembers.
 */
static bool
next_operation(struct ks_text *lines, bool *inside, struct ks_text *name, uint64_t v[O_COLUMNS], size_t *n)
{
	struct ks_text line;

	while (ks_text_line(lines, &line)) {
		struct ks_text value;

		if (!*inside) {
			*inside = ks_text_word(&line, &value) && ks_text_is(&value, "per-op");
			continue;
		}
		if (!ks_text_pair(&line, name, &value) || !ks_text_plain(name))
			continue;
		*n = columns_of(&value, v, O_COLUMNS);
		if (*n > 0)
			return true;
	}
	return false;
}

/* Times are in milliseconds; some kernels count queue times below 0, which is no time at all. */
static bool
nanoseconds(uint64_t ms, uint64_t *ns)
{
	return ms < INT64_MAX / MSEC && !__builtin_mul_overflow(ms, MSEC, ns);
}

/* Reads one column of all operations. */
static int
read_column(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r, size_t column)
{
	bool is_time = column == O_QUEUE || column == O_RTT || column == O_TIME, inside = false;
	struct ks_text lines, name;
	uint64_t v[O_COLUMNS];
	size_t n;

	if (lines_of(lx, unit, &lines) == NULL)
		return -1;
	while (next_operation(&lines, &inside, &name, v, &n)) {
		char stat[KSTAT_STRLEN];

		/* Of an operation that was never called the count says all. */
		if (n <= column || (column != O_COUNT && v[O_COUNT] == 0) ||
		    (is_time && !nanoseconds(v[column], &v[column])))
			continue;
		ks_name_set(stat, sizeof(stat), name.p, ks_text_size(&name));
		for (char *p = stat; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
		ks_named_u64(r, stat, v[column]);
	}
	return 0;
}

/* Adds milliseconds to a sum in nanoseconds, unless they cannot be times. */
static void
add_time(hrtime_t *sum, uint64_t ms)
{
	hrtime_t all;
	uint64_t ns;

	if (nanoseconds(ms, &ns) && !__builtin_add_overflow(*sum, ns, &all))
		*sum = all;
}

static int
read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	kstat_io_t *io = ks_record_add(r, sizeof(*io));
	struct ks_text lines, rest, line, key, name;
	uint64_t v[O_COLUMNS], bytes[8];
	bool inside = false;
	size_t n;

	if (io == NULL)
		return 0;
	if (lines_of(lx, unit, &lines) == NULL)
		return -1;
	for (rest = lines; ks_text_line(&rest, &line);) {
		if (ks_text_word(&line, &key) && ks_text_is(&key, "bytes:") && ks_text_numbers(&line, bytes, 8) >= 6) {
			io->nread = bytes[4];
			io->nwritten = bytes[5];
		}
	}
	while (next_operation(&lines, &inside, &name, v, &n)) {
		bool is_read = ks_text_is(&name, "READ");

		if ((!is_read && !ks_text_is(&name, "WRITE")) || n <= O_RTT)
			continue;
		*(is_read ? &io->reads : &io->writes) = (uint_t)v[O_COUNT];
		add_time(&io->wlentime, v[O_QUEUE]);
		add_time(&io->rlentime, v[O_RTT]);
	}
	return 0;
}

/* Defines the reader of a column, and the function that describes its statistics. */
#define COLUMN(name, column, like, before, after) \
	static int \
	read_##name(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r) \
	{ \
		return read_column(lx, unit, r, column); \
	} \
	static const struct ks_meta * \
	name##_meta(const char *stat) \
	{ \
		return ks_described_as(&(like), before, stat, after); \
	}

static const struct ks_meta counted = KS_META_COUNTER("", "");
static const struct ks_meta in_bytes = KS_META_BYTES("", KS_KIND_COUNTER, "");
static const struct ks_meta in_time = KS_META_NSEC("", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "");

COLUMN(op_count, O_COUNT, counted, "calls of the operation ", "")
COLUMN(op_transmissions, O_TRANSMISSIONS, counted, "times that ", " was sent, repetitions included")
COLUMN(op_timeouts, O_TIMEOUTS, counted, "calls of ", " that timed out for good (major timeouts)")
COLUMN(op_sent, O_SENT, in_bytes, "bytes sent for ", "")
COLUMN(op_received, O_RECEIVED, in_bytes, "bytes received for ", "")
COLUMN(op_queue_time, O_QUEUE, in_time, "time that calls of ", " waited before they were sent")
COLUMN(op_rtt_time, O_RTT, in_time, "time from sending ", " to its reply: round trips")
COLUMN(op_time, O_TIME, in_time, "time from the call of ", " to its end")
COLUMN(op_errors, O_ERRORS, counted, "calls of ", " that ended with an error")

#define OP_PART(name_, ...) \
	KS_NAMED_PART("nfs", #name_, "misc", .read = read_##name_, .meta = name_##_meta, .file = &mountstats_file, \
	    KS_NAMES("getattr"), __VA_ARGS__)

static const struct ks_part parts[] = {
	KS_RAW_PART("nfs", "mntinfo", "misc", sizeof(struct mntinfo_kstat), .read = read_mntinfo,
	    KS_NAMES("mik_proto", "mik_vers", "mik_flags", "mik_secmod", "mik_curread", "mik_curwrite", "mik_timeo",
	    "mik_retrans", "mik_acregmin", "mik_acregmax", "mik_acdirmin", "mik_acdirmax", "mik_curserver"),
	    .from = "/proc/self/mountinfo, /proc/self/mountstats"),
	KS_IO_PART("nfs", "nfs#", "nfs", .read = read_io, .file = &mountstats_file),
	KS_NAMED_PART("nfs", "mountstats", "misc", .fields = KS_TABLE(mount_fields), .read = read_mount,
	    .file = &mountstats_file),
	OP_PART(op_count), OP_PART(op_transmissions), OP_PART(op_timeouts), OP_PART(op_sent), OP_PART(op_received),
	OP_PART(op_queue_time), OP_PART(op_rtt_time), OP_PART(op_time), OP_PART(op_errors, .since = "5.3"),
};

/* --- scanning ---------------------------------------------------------------------------------- */

/* Returns a copy of a line of mountinfo, which the caller frees; NULL without memory. */
static struct nfs *
facts_of(const struct ks_text *line)
{
	size_t n = ks_text_size(line);
	struct nfs *nfs = calloc(1, sizeof(*nfs) + n);

	if (nfs != NULL) {
		memcpy(nfs->text, line->p, n);
		(void)ks_linux_parse_mount(ks_text_of(nfs->text, n), &nfs->mount);
	}
	return nfs;
}

/* Adds the unit of a mount, or brings its facts up to date. Returns -1 without memory. */
static int
add_unit(struct ks_linux *lx, struct ks_units *units, const struct ks_text *line, const struct ks_mount *m)
{
	struct ks_text number = m->number, server = server_of(&m->source);
	uint64_t major, minor, ident = ks_hash_bytes(KS_HASH_INIT, server.p, ks_text_size(&server)) | 1;
	struct ks_unit *unit = ks_units_find(units, m->number.p, ks_text_size(&m->number));
	struct nfs *nfs;
	bool is_new;

	if (unit != NULL && unit->seen)
		return 0; /* another mount of this file system */
	nfs = facts_of(line);
	unit = nfs != NULL ? ks_units_see(units, m->number.p, ks_text_size(&m->number), ident, &is_new) : NULL;
	if (unit == NULL) {
		free(nfs);
		return -1;
	}
	free(unit->extra);
	unit->extra = nfs;
	if (!is_new)
		return 0;
	unit->long_texts = (uint32_t)(ks_text_size(&nfs->mount.source) + ks_text_size(&nfs->mount.point));
	if (ks_text_u64(&number, &major) && number.p < number.end && *number.p++ == ':' &&
	    ks_text_u64(&number, &minor) && minor <= INT32_MAX)
		unit->instance = (int)minor;
	ks_linux_unescape(&m->source, unit->name, sizeof(unit->name));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].file == NULL || ks_linux_exists(lx, parts[i].file->root, parts[i].file->path))
			unit->parts |= (uint16_t)(1u << i);
	}
	return 0;
}

static int
scan_nfs(struct ks_linux *lx, struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_nfs].state;
	struct ks_text all = { "", "" }, line;
	const struct ks_image *im;
	struct ks_mount m;

	if (!ks_linux_mounts_changed(lx, &s->mounts, &im))
		return 0;
	s->seq = 0;
	ks_units_begin(units);
	if (im != NULL)
		all = ks_text_of(im->data, im->len);
	while (ks_text_line(&all, &line)) {
		/* What lists all file systems warns of lines that cannot be parsed. */
		if (ks_linux_parse_mount(line, &m) && (ks_text_is(&m.type, "nfs") || ks_text_is(&m.type, "nfs4")) &&
		    add_unit(lx, units, &line, &m) != 0) {
			s->mounts = 0;
			return ks_fail(ENOMEM, "out of memory");
		}
	}
	return ks_units_end(units);
}

KS_SUBSYSTEM(nfs, parts, .scan = scan_nfs, .state_size = sizeof(struct state));
