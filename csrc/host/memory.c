/* memory.c - see memory.h. SPDX-License-Identifier: MIT */
#include "host/memory.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/*
 * Small blocks come from a slab while it lasts, larger ones and all others from malloc(). Lua tells the size of what
 * it gives back, so blocks need no headers; those of a size are kept for the next of that size. A checker of memory
 * sees nothing of this, so there all blocks are malloc()'s.
 *
 * A module may make further states with this allocator and run them in threads of its own: the slab is its thread's,
 * others leave it alone.
 */
#define SLAB (1u << 20)
#define UNIT 16u /* sizes are rounded up to its multiples */
#ifdef __SANITIZE_ADDRESS__
#define SMALL 0u
#else
#define SMALL 512u /* the largest block of the slab */
#endif

struct block {
	struct block *next;
};

static _Alignas(UNIT) char slab[SLAB];
static _Thread_local bool is_owner;
static size_t used;
static struct block *unused[SMALL / UNIT + 1]; /* by size in units */

static bool
is_of_slab(const void *p)
{
	return (uintptr_t)p - (uintptr_t)slab < SLAB;
}

static size_t
units(size_t size)
{
	return (size + UNIT - 1) / UNIT;
}

static void *
take(size_t size)
{
	size_t n = units(size);
	struct block *b;

	if (size > SMALL || !is_owner)
		return malloc(size);
	b = unused[n];
	if (b != NULL) {
		unused[n] = b->next;
		return b;
	}
	if (n * UNIT > SLAB - used)
		return malloc(size);
	used += n * UNIT;
	return slab + used - n * UNIT;
}

static void
give_back(void *p, size_t size)
{
	struct block *b = p;

	if (!is_owner)
		return;
	b->next = unused[units(size)];
	unused[units(size)] = b;
}

/* See lua_Alloc. Without p, old_size is no size. */
static void *
allocate(void *ud, void *p, size_t old_size, size_t size)
{
	void *to;

	(void)ud;
	if (p == NULL)
		return size > 0 ? take(size) : NULL;
	if (!is_of_slab(p)) {
		if (size > 0)
			return realloc(p, size);
		free(p);
		return NULL;
	}
	if (size > 0 && units(size) == units(old_size))
		return p;
	to = size > 0 ? take(size) : NULL;
	if (size > 0 && to == NULL)
		return size < old_size ? p : NULL; /* to shrink must not fail */
	if (to != NULL)
		memcpy(to, p, size < old_size ? size : old_size);
	give_back(p, old_size);
	return to;
}

/* The allocator of a state that is being closed. A leak checker would take what it keeps for lost. */
static void *
keep(void *ud, void *p, size_t old_size, size_t size)
{
	if (size > 0)
		return allocate(ud, p, old_size, size);
#ifdef __SANITIZE_ADDRESS__
	free(p);
#endif
	return NULL;
}

lua_State *
ks_memory_newstate(void)
{
	lua_State *L = luaL_newstate();

	is_owner = true;
	/* What it has so far is malloc()'s. */
	if (L != NULL)
		lua_setallocf(L, allocate, NULL);
	return L;
}

void
ks_memory_close(lua_State *L)
{
	lua_setallocf(L, keep, NULL);
	lua_close(L);
}
