/* unit.c - the things that a subsystem has kstats for; see linux.h. SPDX-License-Identifier: MIT */
#include "source/linux/linux.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void
ks_name_set(char *to, size_t size, const char *s, size_t n)
{
	if (n >= size)
		n = size - 1;
	memcpy(to, s, n);
	to[n] = '\0';
}

size_t
ks_key_of_path(char key[KS_UNIT_NAME], const char *path)
{
	size_t len = strlen(path);

	if (len < KS_UNIT_NAME) {
		memcpy(key, path, len + 1);
		return len;
	}
	return (size_t)snprintf(key, KS_UNIT_NAME, "%.40s%016llx", path,
	    (unsigned long long)ks_hash_bytes(KS_HASH_INIT, path, len));
}

void
ks_units_free(struct ks_units *u)
{
	for (uint32_t i = 0; i < u->n; i++)
		free(u->v[i].extra);
	free(u->v);
	ks_table_free(&u->by_key);
	memset(u, 0, sizeof(*u));
}

/* A key as it is stored: cut to the room there is, and at a NUL. */
static size_t
key_length(const char *key, size_t len)
{
	return strnlen(key, len < KS_UNIT_NAME ? len : KS_UNIT_NAME - 1);
}

struct key {
	const char *p;
	size_t len;
};

static bool
has_key(const void *units, uint32_t slot, const void *key)
{
	const struct ks_unit *unit = (const struct ks_unit *)units + slot;
	const struct key *k = key;

	return unit->alive && memcmp(unit->key, k->p, k->len) == 0 && unit->key[k->len] == '\0';
}

static uint64_t
hash_of(const char *key, size_t len)
{
	return ks_hash_bytes(KS_HASH_INIT, key, len);
}

static struct ks_unit *
find(struct ks_units *u, const char *key, size_t len)
{
	struct key k = { key, len };
	uint32_t slot = u->hint;

	if (slot >= u->n || !has_key(u->v, slot, &k))
		slot = ks_table_find(&u->by_key, hash_of(key, len), has_key, u->v, &k);
	if (slot == KS_NO_SLOT)
		return NULL;
	u->hint = slot + 1;
	return &u->v[slot];
}

struct ks_unit *
ks_units_find(struct ks_units *u, const char *key, size_t len)
{
	return find(u, key, key_length(key, len));
}

void
ks_units_begin(struct ks_units *u)
{
	for (uint32_t i = 0; i < u->n; i++)
		u->v[i].seen = false;
	ks_units_go_on(u);
}

void
ks_units_go_on(struct ks_units *u)
{
	u->hint = u->free_at = 0;
	u->changed = false;
	u->crtime = u->scanned ? u->last + (u->now - u->last) / 2 : 0;
}

/* Adds a unit with that key, in a free slot or in a new one at the end; NULL with errno ENOMEM. */
static struct ks_unit *
add(struct ks_units *u, const char *key, size_t len)
{
	uint32_t slot = u->n;

	if (u->dead > 0) {
		/* The slots before free_at were found in use earlier in this scan. */
		while (u->free_at < u->n && u->v[u->free_at].alive)
			u->free_at++;
		slot = u->free_at;
	}
	if (!KS_RESERVE(u->v, u->cap, (size_t)slot + 1) ||
	    !ks_table_add(&u->by_key, hash_of(key, len), slot)) {
		errno = ENOMEM;
		return NULL;
	}
	u->dead -= slot < u->n;
	u->n += slot == u->n;
	u->hint = slot + 1;
	memset(&u->v[slot], 0, sizeof(u->v[slot]));
	ks_name_set(u->v[slot].key, KS_UNIT_NAME, key, len);
	ks_name_set(u->v[slot].name, KSTAT_STRLEN, key, strlen(u->v[slot].key));
	u->v[slot].alive = true;
	return &u->v[slot];
}

struct ks_unit *
ks_units_see(struct ks_units *u, const char *key, size_t len, uint64_t ident, bool *is_new)
{
	struct ks_unit *unit;

	len = key_length(key, len);
	unit = find(u, key, len);
	*is_new = unit == NULL ||
	    (!unit->seen && unit->ident != ident && unit->ident != 0 && ident != 0);
	if (unit == NULL && (unit = add(u, key, len)) == NULL)
		return NULL;
	if (*is_new) {
		free(unit->extra);
		unit->extra = NULL;
		memset(unit->served, 0, sizeof(unit->served));
		unit->seq = 0;
		unit->parts = 0;
		unit->crtime = u->crtime;
		u->changed = true;
	}
	if (ident != 0)
		unit->ident = ident;
	unit->seen = true;
	return unit;
}

void
ks_units_remove(struct ks_units *u, struct ks_unit *unit)
{
	uint32_t slot = (uint32_t)(unit - u->v);

	unit->alive = false;
	free(unit->extra);
	unit->extra = NULL;
	u->dead++;
	u->free_at = slot < u->free_at ? slot : u->free_at;
	(void)ks_table_remove(&u->by_key, hash_of(unit->key, strlen(unit->key)), slot);
	u->changed = true;
}

int
ks_units_end(struct ks_units *u)
{
	for (uint32_t i = 0; i < u->n; i++) {
		if (u->v[i].alive && !u->v[i].seen)
			ks_units_remove(u, &u->v[i]);
	}
	u->hint = 0;
	u->scanned = true;
	return u->changed;
}
