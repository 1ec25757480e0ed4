/*
 * shape.c - the bytes of a t-digest: its size, an empty one, and its two forms, the tree of a few samples and
 * the array. bytes.h says what lies where.
 * SPDX-License-Identifier: MIT
 */
#include "stats/tdigest/work.h"

size_t
ks_tdgst_maxctds(const void *td, int kind)
{
	return (size_t)td_get6(td, kind, TD_MAX);
}

unsigned
ks_tdgst_frac(const void *td, int kind)
{
	return td_fracbits(kind, td_ctl(td, kind));
}

size_t
ks_tdgst_size(int kind, size_t n)
{
	size_t size;

	if (n == 0 || n > KS_TDGST_MAXCTDS || (kind != KS_TDGST32 && kind != KS_TDGST64))
		return 0;
	size = td_base(kind) + n * td_nodesize(kind);
	return size <= UINT16_MAX ? size : 0;
}

static unsigned
control(int kind, unsigned prec)
{
	unsigned ctl = 0;

	while (ctl < 7 && td_fracbits(kind, ctl) < prec)
		ctl++;
	while (ctl > 0 && td_fracbits(kind, ctl - 1) == td_fracbits(kind, ctl))
		ctl--; /* several values mean "all bits" */
	return ctl;
}

/* Makes every node free. Without `links` parent and left are not changed: nobody reads them. */
static void
clear(void *td, int kind, size_t n, unsigned ctl, bool links)
{
	uint8_t *node;
	size_t i;

	memset(td, 0, td_base(kind));
	td_put6(td, kind, TD_MAX, (int16_t)n);
	td_put6(td, kind, TD_ROOT, -1);
	td_put6(td, kind, TD_FREE, 0);
	td_put6(td, kind, TD_MIN, -1);
	td_put6(td, kind, TD_GREATEST, -1);
	for (i = 0; i < n; i++) {
		node = td_node(td, kind, i);
		if (links)
			memset(node, 0, TD_RIGHT);
		td_put16(node + TD_RIGHT, i + 1 < n ? (int16_t)(i + 1) : -1);
		node[TD_COLOUR] = 0xff;
		node[TD_COLOUR + 1] = 0;
		td_putmu(node, kind, 0, ctl);
		td_putcnt(node, kind, 0);
	}
}

void
ks_tdgst_init(void *td, int kind, size_t n, unsigned prec)
{
	clear(td, kind, n, control(kind, prec), true);
}

void
ks_tdgst_reset(void *td, int kind)
{
	clear(td, kind, ks_tdgst_maxctds(td, kind), td_ctl(td, kind),
	    td_get6(td, kind, TD_ROOT) <= -2);
}

/* --- a few samples: the tree --- */

void
ks_tdgst_set_node(void *td, int kind, size_t i, int parent, int left, int right)
{
	uint8_t *node = td_node(td, kind, i);

	td_put16(node + TD_PARENT, (int16_t)parent);
	td_put16(node + TD_LEFT, (int16_t)left);
	td_put16(node + TD_RIGHT, (int16_t)right);
	node[TD_COLOUR] = parent >= 0; /* black root, red leaves */
	node[TD_COLOUR + 1] = 0;
}

size_t
ks_tdgst_tree_order(const void *td, int kind, size_t order[KS_TDGST_TREEMAX])
{
	size_t n = (size_t)td_get6(td, kind, TD_CUR), i, j;
	int64_t v[KS_TDGST_TREEMAX];

	for (i = 0; i < n; i++) {
		v[i] = td_getmu(td_cnode(td, kind, i), kind);
		for (j = i; j > 0 && v[order[j - 1]] > v[i]; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	return n;
}

/* --- many samples: the array --- */

void
ks_tdgst_set_array(void *td, int kind, size_t n)
{
	size_t max = ks_tdgst_maxctds(td, kind);

	td_put6(td, kind, TD_CUR, (int16_t)n);
	td_put6(td, kind, TD_ROOT, (int16_t)(-2 - (int)td_places(kind, td_mode(td, kind), n, max)));
	td_put6(td, kind, TD_FREE, n < max ? (int16_t)n : -1);
	td_put6(td, kind, TD_MIN, n > 0 ? 0 : -1);
	td_put6(td, kind, TD_GREATEST, (int16_t)((int)n - 1));
}

void
ks_tdgst_tree_to_array(void *td, int kind)
{
	size_t o[KS_TDGST_TREEMAX], n = ks_tdgst_tree_order(td, kind, o), i;
	int64_t q[KS_TDGST_TREEMAX];
	unsigned ctl = td_ctl(td, kind);

	for (i = 0; i < n; i++)
		q[i] = td_getmu(td_cnode(td, kind, o[i]), kind);
	for (i = 0; i < n; i++) {
		ks_tdgst_set_node(td, kind, i, -1, -1, -1);
		td_store(td_node(td, kind, i), kind, 1,
		    (struct ks_tdgst_item){ q[i] * 2 + 1, 1 }, ctl);
		/* A tree holds any value, an array only what its mode has room for. */
		if (kind == KS_TDGST64 && (q[i] >= KS_TDGST_FIXMAX || q[i] <= -KS_TDGST_FIXMAX))
			((uint8_t *)td)[TD_MODE] = KS_TDGST_INT;
	}
	ks_tdgst_set_array(td, kind, n);
}
