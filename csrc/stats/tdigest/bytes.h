/*
 * bytes.h - the bytes of a t-digest: what lies where, and how a sample is added to them. Outside of this folder only
 * update.c includes this file, for td_add().
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_TDIGEST_BYTES_H
#define STATS_TDIGEST_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stats/tdigest/tdigest.h"

/*
 * The root says in which state a digest is:
 *
 *	root = -1	empty
 *	root >= 0	"tree": one to three samples, each a node, in the order in which they
 *			came; links, colours, least and greatest are those of a red-black tree
 *	root <= -2	"array": nodes 0 .. cur-1 ascend; other samples wait to be merged, and
 *			for -2 - root more there is room
 *
 * Samples wait in the links of all nodes, and in mu and cnt of the free nodes. The places are
 * numbered from 0, first those in links, then two in each free node from the last node
 * down. They are filled from the highest number down, so that only the root is needed to add
 * one. A sample has four bytes in TDGSTCLUST32; in TDGSTCLUST64 six in links and eight in a free
 * node. The mode says what these bytes mean.
 *
 * In an array the two bytes at colour hold bits that mu has no room for, a signed number:
 * a fraction below mu's unit and, as the lowest bit, a flag that all samples of this node are equal. So
 * functions work with m = mu * 2^16 + that number in place of the mean, and compressing rounds far
 * below the digest's precision. In a mode without room for the fraction m is
 * mu * 2 + flag. So two m compare as their means do, and an odd m is exact; the
 * flag itself adds less to a mean than rounding does.
 */
enum ks_tdgst_mode {
	KS_TDGST_FIX,  /* values below 2^46 in units of 2^-frac; there is room for the fraction */
	KS_TDGST_INT,  /* integers below 2^47; larger values, so no fraction */
	KS_TDGST_WIDE  /* any; each uses the links of two nodes, or eight bytes */
};

#define KS_TDGST_FIXMAX (INT64_C(1) << 46)
#define KS_TDGST_INTMAX (INT64_C(1) << 47)
#define KS_TDGST_TREEMAX 3
#define KS_TDGST_NWAIT(n) (2 * (n)) /* most samples that wait in a digest of n nodes */
#define KS_TDGST_ENDS 4    /* from so many nodes on, the first and last item are never merged */
#define KS_TDGST_LARGE 100 /* from so many nodes on, speed is more important than accuracy */

/* One centroid or sample. */
struct ks_tdgst_item {
	int64_t m; /* see above */
	uint64_t w;
};

/* --- the offsets of members; kind is a constant wherever speed matters --- */

#define TD_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define KS_TDGST_INLINE static inline __attribute__((always_inline))

/* Makes a number that was read from memory a private one: the compiler does not read it again. */
#define KS_TDGST_ONCE(v) __asm__("" : "+r"(v))

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

/*
 * Adds to the sample count. It stops at 2^32-1 or, if weights are added, at 2^63-1; from there
 * samples that come one by one never bring it to 2^64.
 */
KS_TDGST_INLINE void
td_count(void *td, int kind, uint64_t w)
{
	uint64_t v = td_smplcnt(td, kind);
	uint32_t v32;

	if (kind == KS_TDGST64) {
		if (w != 1 && (v > INT64_MAX || w > INT64_MAX - v))
			v = v > INT64_MAX ? v : INT64_MAX;
		else
			v += w;
		memcpy(td, &v, sizeof(v));
		return;
	}
	v32 = (uint32_t)v;
	if (w == 1)
		v32 += v32 != UINT32_MAX;
	else
		v32 = w > UINT32_MAX - v ? UINT32_MAX : (uint32_t)(v + w);
	memcpy(td, &v32, sizeof(v32));
}

/*
 * Returns the largest sum of the weights of a digest when it is compressed. In 64 bits there
 * is still room for the samples that wait.
 */
KS_TDGST_INLINE uint64_t
td_limit(int kind)
{
	return kind == KS_TDGST64 ? INT64_MAX - 2 * KS_TDGST_MAXCTDS : INT32_MAX;
}

/* Returns the power of two below which magnitudes must be. */
KS_TDGST_INLINE unsigned
td_bits(int kind)
{
	return kind == KS_TDGST64 ? 60 : 28;
}

/* Returns the offset of mu's control bits in a node, which depends on the host. */
KS_TDGST_INLINE size_t
td_ctlbyte(int kind)
{
	return TD_MU + (TD_LITTLE ? 0 : kind == KS_TDGST64 ? 7 : 3);
}

/* Returns the control bits of the digest, which are those of every node. */
KS_TDGST_INLINE unsigned
td_ctl(const void *td, int kind)
{
	return td_cnode(td, kind, 0)[td_ctlbyte(kind)] & 7;
}

KS_TDGST_INLINE unsigned
td_fracbits(int kind, unsigned ctl)
{
	static const uint8_t bits32[8] = { 2, 4, 6, 8, 16, 28, 28, 28 };
	static const uint8_t bits64[8] = { 2, 4, 6, 8, 16, 32, 48, 60 };

	return kind == KS_TDGST64 ? bits64[ctl] : bits32[ctl];
}

KS_TDGST_INLINE unsigned
td_frac(const void *td, int kind)
{
	return td_fracbits(kind, td_ctl(td, kind));
}

KS_TDGST_INLINE enum ks_tdgst_mode
td_mode(const void *td, int kind)
{
	if (kind != KS_TDGST64)
		return KS_TDGST_FIX;
	return (enum ks_tdgst_mode)((const uint8_t *)td)[TD_MODE];
}

/* Returns the number of places in links. */
KS_TDGST_INLINE size_t
td_inlinks(int kind, enum ks_tdgst_mode mode, size_t max)
{
	return kind == KS_TDGST64 && mode == KS_TDGST_WIDE ? max / 2 : max;
}

/* Returns how many samples can wait beside cur nodes; node 0 keeps its control bits. */
KS_TDGST_INLINE size_t
td_places(int kind, enum ks_tdgst_mode mode, size_t cur, size_t max)
{
	size_t n = td_inlinks(kind, mode, max) + 2 * (max - (cur > 0 ? cur : 1));

	return n < KS_TDGST_NWAIT(max) ? n : KS_TDGST_NWAIT(max);
}

/* Returns how many samples of an array wait. */
KS_TDGST_INLINE size_t
td_nwaiting(const void *td, int kind)
{
	size_t cur = (uint16_t)td_get6(td, kind, TD_CUR), max = (uint16_t)td_get6(td, kind, TD_MAX);

	return td_places(kind, td_mode(td, kind), cur, max) -
	    (size_t)(-2 - td_get6(td, kind, TD_ROOT));
}

/*
 * Returns the number of nodes into which a digest of max nodes compresses its samples. The free nodes
 * hold waiting samples. In small digests these are the samples that td_keep() keeps, which are worth more
 * than a few more centroids; in large ones the room makes batches larger, and so updates faster. Merging
 * digests uses all nodes instead, since it is repeated for each digest.
 */
KS_TDGST_INLINE size_t
td_target(size_t max)
{
	return max < KS_TDGST_ENDS ? max : max < KS_TDGST_LARGE ? max * 3 / 4 : max * 11 / 16;
}

/*
 * Returns how many of the greatest samples, above all nodes, continue to wait when the others are
 * merged: the upper tail is exact to that depth. Half of max can wait beside them.
 */
KS_TDGST_INLINE size_t
td_keep(int kind, enum ks_tdgst_mode mode, size_t max)
{
	size_t places = td_places(kind, mode, td_target(max), max);
	size_t n = max < KS_TDGST_LARGE ? max : max / 8;

	if (max < KS_TDGST_ENDS)
		return 0;
	return n + max / 2 < places ? n : places - max / 2;
}

/* Returns by how many bits m is finer than mu. */
KS_TDGST_INLINE unsigned
td_extra(enum ks_tdgst_mode mode)
{
	return mode == KS_TDGST_FIX ? 16 : 1;
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

/* Returns a node of an array as an item. */
KS_TDGST_INLINE struct ks_tdgst_item
td_load(const uint8_t *node, int kind, unsigned extra)
{
	struct ks_tdgst_item it;

	it.m = td_getmu(node, kind) * (1 << extra) + td_get16(node + TD_COLOUR);
	it.w = td_getcnt(node, kind);
	return it;
}

/* Stores an item in a node of an array; mu becomes m rounded to nearest. */
KS_TDGST_INLINE void
td_store(uint8_t *node, int kind, unsigned extra, struct ks_tdgst_item it, unsigned ctl)
{
	/*
	 * A sum of damaged values may be so large that mu, rounded up, would not fit into m when it is
	 * loaded.
	 */
	int64_t m = extra == 16 && it.m > INT64_MAX - 0x8000 ? INT64_MAX - 0x8000 : it.m;
	int64_t low = extra == 16 ? (int16_t)(uint16_t)m : m & 1;

	td_putmu(node, kind, (m - low) >> extra, ctl);
	td_put16(node + TD_COLOUR, (int16_t)low);
	td_putcnt(node, kind, it.w);
}

/*
 * Returns the offset of place e in free nodes; e is the number of the place less the number of those in
 * links.
 */
KS_TDGST_INLINE size_t
td_place_at(int kind, size_t e, size_t max)
{
	return td_base(kind) + (max - 1 - e / 2) * td_nodesize(kind) + TD_MU +
	    (e & 1) * (kind == KS_TDGST64 ? 8 : 4);
}

/* Returns the sample at place i, which is in links, as it was stored. */
KS_TDGST_INLINE int64_t
td_inlink(const void *td, int kind, enum ks_tdgst_mode mode, size_t i)
{
	bool wide = kind == KS_TDGST64 && mode == KS_TDGST_WIDE;
	const uint8_t *p = td_cnode(td, kind, wide ? 2 * i : i);
	uint32_t low;
	uint16_t mid;

	memcpy(&low, p, sizeof(low));
	if (kind != KS_TDGST64)
		return (int32_t)low;
	if (!wide)
		return td_get16(p + 4) * (INT64_C(1) << 32) + low;
	memcpy(&mid, p + 4, sizeof(mid));
	return td_get16(p + td_nodesize(kind)) * (INT64_C(1) << 48) + ((int64_t)mid << 32 | low);
}

/* Returns a sample in a free node. */
KS_TDGST_INLINE int64_t
td_infree(const uint8_t *p, int kind)
{
	int64_t v;
	int32_t v32;

	if (kind == KS_TDGST64) {
		memcpy(&v, p, sizeof(v));
		return v;
	}
	memcpy(&v32, p, sizeof(v32));
	return v32;
}

/* Stores v, which fits the mode, at place i. */
KS_TDGST_INLINE void
td_wait(void *td, int kind, enum ks_tdgst_mode mode, size_t i, size_t max, int64_t v)
{
	size_t links = td_inlinks(kind, mode, max);
	uint64_t u = (uint64_t)v;
	uint32_t low = (uint32_t)u;
	uint16_t mid = (uint16_t)(u >> 32);
	uint8_t *p;

	p = i < links ? td_node(td, kind, kind == KS_TDGST64 && mode == KS_TDGST_WIDE ?
	    2 * i : i) : (uint8_t *)td + td_place_at(kind, i - links, max);
	if (kind != KS_TDGST64) {
		memcpy(p, &low, sizeof(low));
		return;
	}
	if (i >= links) {
		memcpy(p, &v, sizeof(v));
		return;
	}
	memcpy(p, &low, sizeof(low));
	memcpy(p + 4, &mid, sizeof(mid));
	if (mode == KS_TDGST_WIDE) {
		mid = (uint16_t)(u >> 48);
		memcpy(p + td_nodesize(kind), &mid, sizeof(mid));
	}
}

/* --- adding --- */

/*
 * The ordinary case: one sample, a value that needs no other mode, an array in which a place is left. value
 * is in units of 2^-(frac - shift). `shape` is td, or a private digest of the same size and precision if
 * others may write into td. Returns false for other cases.
 */
KS_TDGST_INLINE bool
td_add(const void *shape, void *td, int kind, int64_t value, unsigned shift, bool is_signed)
{
	int root = td_get6(td, kind, TD_ROOT);
	size_t max = (uint16_t)td_get6(shape, kind, TD_MAX);
	uint64_t most = (uint64_t)((kind == KS_TDGST64 ? KS_TDGST_FIXMAX :
	    INT64_C(1) << td_bits(kind)) - 1) >> shift;
	uint64_t off = is_signed ? most : 0;

	KS_TDGST_ONCE(root);
	if ((size_t)(-3 - root) >= KS_TDGST_NWAIT(max) || (uint64_t)value + off > most + off ||
	    td_mode(td, kind) != KS_TDGST_FIX)
		return false;
	td_wait(td, kind, KS_TDGST_FIX, (size_t)(-3 - root), max, (int64_t)((uint64_t)value << shift));
	td_put6(td, kind, TD_ROOT, (int16_t)(root + 1));
	td_count(td, kind, 1);
	return true;
}

#endif
