/*
 * tdigest_impl.h - what the two halves of the t-digest share: its bytes, and the list of
 * items that a digest is while it is worked on. Nothing else includes this.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_TDIGEST_IMPL_H
#define STATS_TDIGEST_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stats/tdigest.h"

/*
 * The state of a digest, told by its root:
 *
 *	root = -1	empty
 *	root >= 0	"tree": one to three samples, each a node, in the order they came;
 *			links, colours, least and greatest are those of a red-black tree
 *	root <= -2	"array": nodes 0 .. cur-1 ascend; -2 - root samples wait in the
 *			links of nodes 0, 1, ... to be merged
 *
 * In an array the two bytes at colour hold bits that mu has no room for: 15 bits, signed,
 * of fraction below mu's unit, and lowest a flag: all samples of this node are equal.
 * A mean is thus kept as m = mu * 2^15 + fraction, and merging rounds far below the
 * digest's precision. A waiting sample has six bytes; what it is there depends on the mode.
 */
enum ks_tdgst_mode {
	KS_TDGST_FIX,  /* values below 2^46 in units of 2^-frac; the extra 15 bits are used */
	KS_TDGST_INT,  /* integers below 2^47; larger values, so no extra bits */
	KS_TDGST_WIDE  /* any; each takes the links of two nodes */
};

#define KS_TDGST_EXTRA 15
#define KS_TDGST_FIXMAX (INT64_C(1) << 46)
#define KS_TDGST_INTMAX (INT64_C(1) << 47)
#define KS_TDGST_TREEMAX 3
#define KS_TDGST_SMALL 128 /* digests of so many nodes are merged in little stack */

struct ks_tdgst_scale {
	double a, b;     /* dk/dq ~ q^-a (1-q)^-b */
	double integral; /* of that over 0..1 */
	uint64_t q[129]; /* in units of 2^-63 */
};

extern const struct ks_tdgst_scale ks_tdgst_scales[2];

static inline const struct ks_tdgst_scale *
ks_tdgst_scale(size_t n)
{
	return &ks_tdgst_scales[n >= 40];
}

/* One centroid or sample: mean m, weight w2 / 2, and bit 0 of w2: all samples equal m. */
struct ks_tdgst_item {
	int64_t m;
	uint64_t w2;
};

/* --- where things are; kind is a constant wherever speed matters --- */

#define KS_TDGST_INLINE static inline __attribute__((always_inline))

KS_TDGST_INLINE size_t
td_six(int kind)
{
	return kind == KS_TDGST64 ? 16 : 8;
}

KS_TDGST_INLINE size_t
td_base(int kind)
{
	return kind == KS_TDGST64 ? 32 : 20;
}

KS_TDGST_INLINE size_t
td_nodesize(int kind)
{
	return kind == KS_TDGST64 ? 24 : 16;
}

enum { TD_CUR, TD_MAX, TD_ROOT, TD_FREE, TD_MIN, TD_GREATEST }; /* the six */
enum { TD_PARENT = 0, TD_LEFT = 2, TD_RIGHT = 4, TD_COLOUR = 6, TD_MU = 8 };

#define TD_MODE 28 /* TDGSTCLUST64: a byte of padding before the nodes holds the mode */

KS_TDGST_INLINE uint8_t *
td_node(void *td, int kind, size_t i)
{
	return (uint8_t *)td + td_base(kind) + i * td_nodesize(kind);
}

KS_TDGST_INLINE const uint8_t *
td_cnode(const void *td, int kind, size_t i)
{
	return (const uint8_t *)td + td_base(kind) + i * td_nodesize(kind);
}

KS_TDGST_INLINE int16_t
td_get16(const void *p)
{
	int16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

KS_TDGST_INLINE void
td_put16(void *p, int16_t v)
{
	memcpy(p, &v, sizeof(v));
}

KS_TDGST_INLINE int16_t
td_get6(const void *td, int kind, int which)
{
	return td_get16((const uint8_t *)td + td_six(kind) + 2 * (size_t)which);
}

KS_TDGST_INLINE void
td_put6(void *td, int kind, int which, int16_t v)
{
	td_put16((uint8_t *)td + td_six(kind) + 2 * (size_t)which, v);
}

KS_TDGST_INLINE uint64_t
td_smplcnt(const void *td, int kind)
{
	uint64_t v64;
	uint32_t v32;

	if (kind == KS_TDGST64) {
		memcpy(&v64, td, sizeof(v64));
		return v64;
	}
	memcpy(&v32, td, sizeof(v32));
	return v32;
}

/* Adds to the sample count, which stays at the type's maximum once there. */
KS_TDGST_INLINE void
td_count(void *td, int kind, uint64_t w)
{
	uint64_t v = td_smplcnt(td, kind);
	uint32_t v32;

	if (__builtin_add_overflow(v, w, &v))
		v = UINT64_MAX;
	if (kind == KS_TDGST64) {
		memcpy(td, &v, sizeof(v));
		return;
	}
	v32 = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	memcpy(td, &v32, sizeof(v32));
}

/*
 * The most that the weights of a digest may be together when it is compressed. In 64 bits
 * the samples that wait still fit above it.
 */
KS_TDGST_INLINE uint64_t
td_limit(int kind)
{
	return kind == KS_TDGST64 ? INT64_MAX - 2 * KS_TDGST_MAXCTDS : INT32_MAX;
}

/* Magnitudes must be below 2^this. */
KS_TDGST_INLINE unsigned
td_bits(int kind)
{
	return kind == KS_TDGST64 ? 60 : 28;
}

/* Where in a node the control bits of mu are; that depends on the host. */
KS_TDGST_INLINE size_t
td_ctlbyte(int kind)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return TD_MU + (kind == KS_TDGST64 ? 7 : 3);
#else
	(void)kind;
	return TD_MU;
#endif
}

/* The control bits of the digest, which are those of every node. */
KS_TDGST_INLINE unsigned
td_ctl(const void *td, int kind)
{
	return td_cnode(td, kind, 0)[td_ctlbyte(kind)] & 7;
}

KS_TDGST_INLINE unsigned
td_fracbits(int kind, unsigned ctl)
{
	static const uint8_t bits[8] = { 2, 4, 6, 8, 16, 32, 48, 64 };
	unsigned b = bits[ctl & 7];

	return b < td_bits(kind) ? b : td_bits(kind);
}

KS_TDGST_INLINE enum ks_tdgst_mode
td_mode(const void *td, int kind)
{
	if (kind != KS_TDGST64)
		return KS_TDGST_FIX;
	return (enum ks_tdgst_mode)((const uint8_t *)td)[TD_MODE];
}

/* How many samples can wait. */
KS_TDGST_INLINE size_t
td_room(int kind, enum ks_tdgst_mode mode, size_t n)
{
	return kind == KS_TDGST64 && mode == KS_TDGST_WIDE ? n / 2 : n;
}

KS_TDGST_INLINE unsigned
td_extra(enum ks_tdgst_mode mode)
{
	return mode == KS_TDGST_FIX ? KS_TDGST_EXTRA : 0;
}

/* --- Q words and counts --- */

KS_TDGST_INLINE int64_t
td_getmu(const uint8_t *node, int kind)
{
	uint64_t u, s;
	uint32_t u32;

	if (kind == KS_TDGST64) {
		memcpy(&u, node + TD_MU, sizeof(u));
	} else {
		memcpy(&u32, node + TD_MU, sizeof(u32));
		u = (uint64_t)(u32 & INT32_MAX) | ((uint64_t)(u32 >> 31) << 63);
	}
	s = 0 - (u >> 63);
	return (int64_t)((((u & INT64_MAX) >> 3) ^ s) - s);
}

KS_TDGST_INLINE void
td_putmu(uint8_t *node, int kind, int64_t q, unsigned ctl)
{
	uint64_t s = (uint64_t)q >> 63, mag = ((uint64_t)q ^ (0 - s)) + s, u;
	uint32_t u32;

	if (kind == KS_TDGST64) {
		u = mag << 3 | ctl | s << 63;
		memcpy(node + TD_MU, &u, sizeof(u));
	} else {
		u32 = (uint32_t)(mag << 3) | ctl | (uint32_t)s << 31;
		memcpy(node + TD_MU, &u32, sizeof(u32));
	}
}

KS_TDGST_INLINE uint64_t
td_getcnt(const uint8_t *node, int kind)
{
	uint64_t c;
	uint32_t c32;

	if (kind == KS_TDGST64) {
		memcpy(&c, node + 16, sizeof(c));
		return c;
	}
	memcpy(&c32, node + 12, sizeof(c32));
	return c32;
}

KS_TDGST_INLINE void
td_putcnt(uint8_t *node, int kind, uint64_t c)
{
	uint32_t c32 = (uint32_t)c;

	if (kind == KS_TDGST64)
		memcpy(node + 16, &c, sizeof(c));
	else
		memcpy(node + 12, &c32, sizeof(c32));
}

/* A node of an array as an item. */
KS_TDGST_INLINE struct ks_tdgst_item
td_load(const uint8_t *node, int kind, unsigned extra)
{
	struct ks_tdgst_item it;
	int16_t low;

	it.m = td_getmu(node, kind);
	low = td_get16(node + TD_COLOUR);
	if (extra != 0)
		it.m = (it.m * (1 << KS_TDGST_EXTRA)) + (low >> 1);
	it.w2 = td_getcnt(node, kind) << 1 | (low & 1);
	return it;
}

/* An item as a node of an array; the fraction is rounded to nearest, signed. */
KS_TDGST_INLINE void
td_store(uint8_t *node, int kind, unsigned extra, struct ks_tdgst_item it, unsigned ctl)
{
	int64_t low = 0;

	if (extra != 0) {
		low = it.m & ((1 << KS_TDGST_EXTRA) - 1);
		low -= (low & (1 << (KS_TDGST_EXTRA - 1))) * 2;
		it.m = (it.m - low) >> KS_TDGST_EXTRA;
	}
	td_putmu(node, kind, it.m, ctl);
	td_put16(node + TD_COLOUR, (int16_t)(low * 2 + (int64_t)(it.w2 & 1)));
	td_putcnt(node, kind, it.w2 >> 1);
}

/* The i-th waiting sample as it was put, see td_wait. */
KS_TDGST_INLINE int64_t
td_waiting(const void *td, int kind, enum ks_tdgst_mode mode, size_t i)
{
	const uint8_t *node;
	uint32_t low;
	int32_t v32;
	uint16_t top;

	if (kind != KS_TDGST64) {
		memcpy(&v32, td_cnode(td, kind, i), sizeof(v32));
		return v32;
	}
	if (mode != KS_TDGST_WIDE) {
		node = td_cnode(td, kind, i);
		memcpy(&low, node, sizeof(low));
		return td_get16(node + 4) * (INT64_C(1) << 32) + low;
	}
	node = td_cnode(td, kind, 2 * i);
	memcpy(&low, node, sizeof(low));
	memcpy(&top, node + 4, sizeof(top));
	return td_get16(node + td_nodesize(kind)) * (INT64_C(1) << 48) +
	    ((int64_t)top << 32 | low);
}

/* Puts v, which fits the mode, as the i-th waiting sample. */
KS_TDGST_INLINE void
td_wait(void *td, int kind, enum ks_tdgst_mode mode, size_t i, int64_t v)
{
	uint8_t *node;
	uint64_t u = (uint64_t)v;
	uint32_t low = (uint32_t)u;
	uint16_t mid = (uint16_t)(u >> 32);

	if (kind != KS_TDGST64) {
		memcpy(td_node(td, kind, i), &low, sizeof(low));
		return;
	}
	node = td_node(td, kind, mode == KS_TDGST_WIDE ? 2 * i : i);
	memcpy(node, &low, sizeof(low));
	memcpy(node + 4, &mid, sizeof(mid));
	if (mode == KS_TDGST_WIDE) {
		mid = (uint16_t)(u >> 48);
		memcpy(node + td_nodesize(kind), &mid, sizeof(mid));
	}
}

/* --- a digest as a list of items, in scratch memory of the caller --- */

/* The sizes of the arrays below for a digest of n nodes. */
#define KS_TDGST_NSORT(n) ((n) + 1)
#define KS_TDGST_NITEMS(n) (2 * (n) + 2)

struct ks_tdgst_work {
	int64_t *sort[2];          /* KS_TDGST_NSORT each */
	struct ks_tdgst_item *item; /* KS_TDGST_NITEMS */
};

#define KS_TDGST_SCRATCH(n) \
	struct { \
		int64_t sort[2][KS_TDGST_NSORT(n)]; \
		struct ks_tdgst_item item[KS_TDGST_NITEMS(n)]; \
	}

/* A digest's content for those who read it. */
struct ks_tdgst_list {
	const struct ks_tdgst_item *item;
	size_t n;
	uint64_t total; /* sum of weights */
	unsigned unit;  /* means are in units of 2^-unit */
	bool few;       /* the digest is a tree or empty */
};

/*
 * Calls fn with td's content, compressed to as many items as it has nodes if asked for,
 * and returns what fn returns. td does not change.
 */
int ks_tdgst_with_list(const void *td, int kind, bool compressed,
    int (*fn)(const struct ks_tdgst_list *list, void *ctx), void *ctx);

/*
 * The digest's nodes and waiting samples and w more samples of mean m (in the digest's
 * unit of m) as an ascending list without compression; *extra gets the number of extra
 * bits of its means, *total the sum of weights. Returns the number of items.
 */
size_t ks_tdgst_gather(const void *td, int kind, const struct ks_tdgst_work *wk, int64_t m,
    uint64_t w, unsigned *extra, uint64_t *total);

/* Adds an item to the n of an ascending list; equal exact ones become one. */
KS_TDGST_INLINE size_t
td_push(struct ks_tdgst_item *it, size_t n, int64_t m, uint64_t w2)
{
	if (n > 0 && it[n - 1].m == m && (it[n - 1].w2 & w2 & 1) != 0) {
		it[n - 1].w2 += w2 - 1;
		return n;
	}
	it[n].m = m;
	it[n].w2 = w2;
	return n + 1;
}

/* Compresses nitems items of that total weight to at most n, in place; returns how many. */
size_t ks_tdgst_compress(struct ks_tdgst_item *it, size_t nitems, uint64_t total, size_t n);

#endif
