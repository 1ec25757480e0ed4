/* raw_layout.c - see raw_layout.h. SPDX-License-Identifier: MIT */
#include "model/raw_layout.h"

#include <string.h>

/*
 * In the order in which kstat(8) knows the members; members of the structures that it
 * does not show are left out of the tables.
 */
static const struct ks_raw_field cpu_stat_fields[] = {
	{ "idle", 8, KS_RAW_U32, 1 }, { "user", 12, KS_RAW_U32, 1 },
	{ "kernel", 16, KS_RAW_U32, 1 }, { "wait", 20, KS_RAW_U32, 1 },
	{ "wait_io", 24, KS_RAW_U32, 1 }, { "wait_swap", 28, KS_RAW_U32, 1 },
	{ "wait_pio", 32, KS_RAW_U32, 1 }, { "bread", 36, KS_RAW_U32, 1 },
	{ "bwrite", 40, KS_RAW_U32, 1 }, { "lread", 44, KS_RAW_U32, 1 },
	{ "lwrite", 48, KS_RAW_U32, 1 }, { "phread", 52, KS_RAW_U32, 1 },
	{ "phwrite", 56, KS_RAW_U32, 1 }, { "pswitch", 60, KS_RAW_U32, 1 },
	{ "trap", 64, KS_RAW_U32, 1 }, { "intr", 68, KS_RAW_U32, 1 },
	{ "syscall", 72, KS_RAW_U32, 1 }, { "sysread", 76, KS_RAW_U32, 1 },
	{ "syswrite", 80, KS_RAW_U32, 1 }, { "sysfork", 84, KS_RAW_U32, 1 },
	{ "sysvfork", 88, KS_RAW_U32, 1 }, { "sysexec", 92, KS_RAW_U32, 1 },
	{ "readch", 96, KS_RAW_U32, 1 }, { "writech", 100, KS_RAW_U32, 1 },
	{ "rcvint", 104, KS_RAW_U32, 1 }, { "xmtint", 108, KS_RAW_U32, 1 },
	{ "mdmint", 112, KS_RAW_U32, 1 }, { "rawch", 116, KS_RAW_U32, 1 },
	{ "canch", 120, KS_RAW_U32, 1 }, { "outch", 124, KS_RAW_U32, 1 },
	{ "msg", 128, KS_RAW_U32, 1 }, { "sema", 132, KS_RAW_U32, 1 },
	{ "namei", 136, KS_RAW_U32, 1 }, { "ufsiget", 140, KS_RAW_U32, 1 },
	{ "ufsdirblk", 144, KS_RAW_U32, 1 }, { "ufsipage", 148, KS_RAW_U32, 1 },
	{ "ufsinopage", 152, KS_RAW_U32, 1 }, { "inodeovf", 156, KS_RAW_U32, 1 },
	{ "fileovf", 160, KS_RAW_U32, 1 }, { "procovf", 164, KS_RAW_U32, 1 },
	{ "intrthread", 168, KS_RAW_U32, 1 }, { "intrblk", 172, KS_RAW_U32, 1 },
	{ "idlethread", 176, KS_RAW_U32, 1 }, { "inv_swtch", 180, KS_RAW_U32, 1 },
	{ "nthreads", 184, KS_RAW_U32, 1 }, { "cpumigrate", 188, KS_RAW_U32, 1 },
	{ "xcalls", 192, KS_RAW_U32, 1 }, { "mutex_adenters", 196, KS_RAW_U32, 1 },
	{ "rw_rdfails", 200, KS_RAW_U32, 1 }, { "rw_wrfails", 204, KS_RAW_U32, 1 },
	{ "modload", 208, KS_RAW_U32, 1 }, { "modunload", 212, KS_RAW_U32, 1 },
	{ "bawrite", 216, KS_RAW_U32, 1 }, { "iowait", 244, KS_RAW_I32, 1 },
	{ "swap", 248, KS_RAW_I32, 1 }, { "physio", 252, KS_RAW_I32, 1 },
	{ "pgrec", 256, KS_RAW_U32, 1 }, { "pgfrec", 260, KS_RAW_U32, 1 },
	{ "pgin", 264, KS_RAW_U32, 1 }, { "pgpgin", 268, KS_RAW_U32, 1 },
	{ "pgout", 272, KS_RAW_U32, 1 }, { "pgpgout", 276, KS_RAW_U32, 1 },
	{ "swapin", 280, KS_RAW_U32, 1 }, { "pgswapin", 284, KS_RAW_U32, 1 },
	{ "swapout", 288, KS_RAW_U32, 1 }, { "pgswapout", 292, KS_RAW_U32, 1 },
	{ "zfod", 296, KS_RAW_U32, 1 }, { "dfree", 300, KS_RAW_U32, 1 },
	{ "scan", 304, KS_RAW_U32, 1 }, { "rev", 308, KS_RAW_U32, 1 },
	{ "hat_fault", 312, KS_RAW_U32, 1 }, { "as_fault", 316, KS_RAW_U32, 1 },
	{ "maj_fault", 320, KS_RAW_U32, 1 }, { "cow_fault", 324, KS_RAW_U32, 1 },
	{ "prot_fault", 328, KS_RAW_U32, 1 }, { "softlock", 332, KS_RAW_U32, 1 },
	{ "kernel_asflt", 336, KS_RAW_U32, 1 }, { "pgrrun", 340, KS_RAW_U32, 1 },
	{ "execpgin", 344, KS_RAW_U32, 1 }, { "execpgout", 348, KS_RAW_U32, 1 },
	{ "execfree", 352, KS_RAW_U32, 1 }, { "anonpgin", 356, KS_RAW_U32, 1 },
	{ "anonpgout", 360, KS_RAW_U32, 1 }, { "anonfree", 364, KS_RAW_U32, 1 },
	{ "fspgin", 368, KS_RAW_U32, 1 }, { "fspgout", 372, KS_RAW_U32, 1 },
	{ "fsfree", 376, KS_RAW_U32, 1 }, { NULL, 0, 0, 0 }
};

static const struct ks_raw_field var_fields[] = {
	{ "v_buf", 0, KS_RAW_I32, 1 }, { "v_call", 4, KS_RAW_I32, 1 },
	{ "v_proc", 8, KS_RAW_I32, 1 }, { "v_maxupttl", 12, KS_RAW_I32, 1 },
	{ "v_nglobpris", 16, KS_RAW_I32, 1 }, { "v_maxsyspri", 20, KS_RAW_I32, 1 },
	{ "v_clist", 24, KS_RAW_I32, 1 }, { "v_maxup", 28, KS_RAW_I32, 1 },
	{ "v_hbuf", 32, KS_RAW_I32, 1 }, { "v_hmask", 36, KS_RAW_I32, 1 },
	{ "v_pbuf", 40, KS_RAW_I32, 1 }, { "v_sptmap", 44, KS_RAW_I32, 1 },
	{ "v_maxpmem", 48, KS_RAW_I32, 1 }, { "v_autoup", 52, KS_RAW_I32, 1 },
	{ "v_bufhwm", 56, KS_RAW_I32, 1 }, { NULL, 0, 0, 0 }
};

static const struct ks_raw_field ncstats_fields[] = {
	{ "hits", 0, KS_RAW_I32, 1 }, { "misses", 4, KS_RAW_I32, 1 },
	{ "enters", 8, KS_RAW_I32, 1 }, { "dbl_enters", 12, KS_RAW_I32, 1 },
	{ "long_enter", 16, KS_RAW_I32, 1 }, { "long_look", 20, KS_RAW_I32, 1 },
	{ "move_to_front", 24, KS_RAW_I32, 1 }, { "purges", 28, KS_RAW_I32, 1 }, { NULL, 0, 0, 0 }
};

static const struct ks_raw_field sysinfo_fields[] = {
	{ "updates", 0, KS_RAW_U32, 1 }, { "runque", 4, KS_RAW_U32, 1 },
	{ "runocc", 8, KS_RAW_U32, 1 }, { "swpque", 12, KS_RAW_U32, 1 },
	{ "swpocc", 16, KS_RAW_U32, 1 }, { "waiting", 20, KS_RAW_U32, 1 }, { NULL, 0, 0, 0 }
};

static const struct ks_raw_field vminfo_fields[] = {
	{ "freemem", 0, KS_RAW_U64, 1 }, { "swap_resv", 8, KS_RAW_U64, 1 },
	{ "swap_alloc", 16, KS_RAW_U64, 1 }, { "swap_avail", 24, KS_RAW_U64, 1 },
	{ "swap_free", 32, KS_RAW_U64, 1 }, { "updates", 40, KS_RAW_U64, 1 }, { NULL, 0, 0, 0 }
};

static const struct ks_raw_field mntinfo_fields[] = {
	{ "mik_proto", 0, KS_RAW_CHARS, 128 }, { "mik_vers", 128, KS_RAW_U32, 1 },
	{ "mik_flags", 132, KS_RAW_U32, 1 }, { "mik_secmod", 136, KS_RAW_U32, 1 },
	{ "mik_curread", 140, KS_RAW_U32, 1 }, { "mik_curwrite", 144, KS_RAW_U32, 1 },
	{ "mik_timeo", 148, KS_RAW_I32, 1 }, { "mik_retrans", 152, KS_RAW_I32, 1 },
	{ "mik_acregmin", 156, KS_RAW_U32, 1 }, { "mik_acregmax", 160, KS_RAW_U32, 1 },
	{ "mik_acdirmin", 164, KS_RAW_U32, 1 }, { "mik_acdirmax", 168, KS_RAW_U32, 1 },
	{ "lookup_srtt", 172, KS_RAW_U32, 1 }, { "lookup_deviate", 176, KS_RAW_U32, 1 },
	{ "lookup_rtxcur", 180, KS_RAW_U32, 1 }, { "read_srtt", 184, KS_RAW_U32, 1 },
	{ "read_deviate", 188, KS_RAW_U32, 1 }, { "read_rtxcur", 192, KS_RAW_U32, 1 },
	{ "write_srtt", 196, KS_RAW_U32, 1 }, { "write_deviate", 200, KS_RAW_U32, 1 },
	{ "write_rtxcur", 204, KS_RAW_U32, 1 }, { "mik_noresponse", 220, KS_RAW_U32, 1 },
	{ "mik_failover", 224, KS_RAW_U32, 1 }, { "mik_remap", 228, KS_RAW_U32, 1 },
	{ "mik_curserver", 232, KS_RAW_CHARS, 257 }, { NULL, 0, 0, 0 }
};

#define INTR(name, i) { name, (i) * sizeof(uint_t), KS_RAW_U32, 1 }
#define IO(member, type) { #member, offsetof(kstat_io_t, member), type, 1 }
#define TIMER(member, type) { #member, offsetof(kstat_timer_t, member), type, 1 }

static const struct ks_raw_field intr_fields[] = {
	INTR("hard", KSTAT_INTR_HARD), INTR("soft", KSTAT_INTR_SOFT),
	INTR("watchdog", KSTAT_INTR_WATCHDOG), INTR("spurious", KSTAT_INTR_SPURIOUS),
	INTR("multiple_service", KSTAT_INTR_MULTSVC), { NULL, 0, 0, 0 }
};

static const struct ks_raw_field io_fields[] = {
	IO(nread, KS_RAW_U64), IO(nwritten, KS_RAW_U64), IO(reads, KS_RAW_U32),
	IO(writes, KS_RAW_U32), IO(wtime, KS_RAW_NSEC), IO(wlentime, KS_RAW_NSEC),
	IO(wlastupdate, KS_RAW_NSEC), IO(rtime, KS_RAW_NSEC), IO(rlentime, KS_RAW_NSEC),
	IO(rlastupdate, KS_RAW_NSEC), IO(wcnt, KS_RAW_U32), IO(rcnt, KS_RAW_U32),
	{ NULL, 0, 0, 0 }
};

static const struct ks_raw_field timer_fields[] = {
	{ "name", offsetof(kstat_timer_t, name), KS_RAW_CHARS, KSTAT_STRLEN - 1 },
	TIMER(num_events, KS_RAW_U64), TIMER(elapsed_time, KS_RAW_NSEC), TIMER(min_time, KS_RAW_NSEC),
	TIMER(max_time, KS_RAW_NSEC), TIMER(start_time, KS_RAW_NSEC), TIMER(stop_time, KS_RAW_NSEC),
	{ NULL, 0, 0, 0 }
};

static const struct ks_raw_layout intr_layout = { "", sizeof(kstat_intr_t), intr_fields };
static const struct ks_raw_layout io_layout = { "", sizeof(kstat_io_t), io_fields };
static const struct ks_raw_layout timer_layout = { "", sizeof(kstat_timer_t), timer_fields };

static const struct ks_raw_layout layouts[] = {
	{ "cpu_stat:cpu_stat", 380, cpu_stat_fields },
	{ "unix:var", 60, var_fields },
	{ "unix:ncstats", 32, ncstats_fields },
	{ "unix:sysinfo", 24, sysinfo_fields },
	{ "unix:vminfo", 48, vminfo_fields },
	{ "nfs:mntinfo", 492, mntinfo_fields },
};

/* Compares the part of a key with a text whose digits are ignored. Returns the rest of the key, or NULL. */
static const char *
match_without_digits(const char *key, const char *text)
{
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			continue;
		if (*text == '\0')
			return key;
		if (*key++ != *text)
			return NULL;
	}
}

const struct ks_raw_layout *
ks_raw_layout_find(const char *module, const char *name)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const char *key = layouts[i].key;

		if (*key != *module)
			continue;
		key = match_without_digits(key, module);
		if (key == NULL || *key++ != ':')
			continue;
		key = match_without_digits(key, name);
		if (key != NULL && *key == '\0')
			return &layouts[i];
	}
	return NULL;
}

const struct ks_raw_layout *
ks_structure_find(uchar_t type, const char *module, const char *name)
{
	switch (type) {
	case KSTAT_TYPE_INTR:
		return &intr_layout;
	case KSTAT_TYPE_IO:
		return &io_layout;
	case KSTAT_TYPE_TIMER:
		return &timer_layout;
	case KSTAT_TYPE_RAW:
		return ks_raw_layout_find(module, name);
	default:
		return NULL;
	}
}

size_t
ks_raw_layout_count(const struct ks_raw_layout *l)
{
	size_t n = 0;

	while (l->fields[n].name != NULL)
		n++;
	return n;
}

void
ks_raw_set(void *structure, const struct ks_raw_field *f, const struct ks_value *v)
{
	char *at = (char *)structure + f->offset;
	uint32_t u32 = (uint32_t)v->u64;
	size_t n;

	switch (f->type) {
	case KS_RAW_U32:
	case KS_RAW_I32:
		memcpy(at, &u32, sizeof(u32));
		break;
	case KS_RAW_U64:
	case KS_RAW_NSEC:
		memcpy(at, &v->u64, sizeof(v->u64));
		break;
	default:
		if (v->kind != KS_VALUE_STRING)
			break;
		n = v->len < f->count ? v->len : f->count;
		memset(at, 0, f->count);
		if (n > 0)
			memcpy(at, v->str, n);
		break;
	}
}

bool
ks_raw_is_hidden(const struct ks_raw_layout *l, const void *data, size_t size, size_t n)
{
	const unsigned char *marks = (const unsigned char *)data + l->size;

	return size == l->size + KS_RAW_MARKS && (marks[n / 8] >> n % 8 & 1) != 0;
}

bool
ks_raw_start(struct ks_record *r, const struct ks_raw_layout *l, bool marked)
{
	char *data = ks_record_add(r, l->size + (marked ? KS_RAW_MARKS : 0));

	if (data != NULL && marked)
		memset(data + l->size, 0xff, KS_RAW_MARKS);
	return data != NULL;
}

void
ks_raw_put(struct ks_record *r, const struct ks_raw_layout *l, const char *name, const struct ks_value *v)
{
	for (size_t n = 0; l->fields[n].name != NULL; n++) {
		if (l->fields[n].name[0] != name[0] || strcmp(l->fields[n].name, name) != 0)
			continue;
		ks_raw_set(r->fixed.data, &l->fields[n], v);
		if (r->fixed.len > l->size)
			r->fixed.data[l->size + n / 8] &= (char)~(1u << n % 8);
		return;
	}
}

void
ks_raw_put_u64(struct ks_record *r, const struct ks_raw_layout *l, const char *name, uint64_t v)
{
	ks_raw_put(r, l, name, &(struct ks_value){ .kind = KS_VALUE_U64, .bits = 64, .u64 = v });
}
