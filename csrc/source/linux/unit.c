/* unit.c - see unit.h. SPDX-License-Identifier: MIT */
#include "source/linux/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	free(u->hash);
	memset(u, 0, sizeof(*u));
}

static bool
has_key(const struct ks_unit *unit, const char *key, size_t len)
{
	return unit->alive && memcmp(unit->key, key, len) == 0 && unit->key[len] == '\0';
}

/* A key as it is stored: cut to the room there is, and at a NUL. */
static size_t
key_length(const char *key, size_t len)
{
	return strnlen(key, len < KS_UNIT_NAME ? len : KS_UNIT_NAME - 1);
}

static void
hash_add(struct ks_units *u, uint32_t slot)
{
	uint32_t mask = u->hash_cap - 1;
	uint32_t i = (uint32_t)ks_hash_string(KS_HASH_INIT, u->v[slot].key) & mask;

	while (u->hash[i] != 0)
		i = (i + 1) & mask;
	u->hash[i] = slot + 1;
}

static void
hash_fill(struct ks_units *u)
{
	if (u->hash_cap > 0)
		memset(u->hash, 0, u->hash_cap * sizeof(*u->hash));
	for (uint32_t i = 0; i < u->n; i++) {
		if (u->v[i].alive)
			hash_add(u, i);
	}
}

static struct ks_unit *
find(struct ks_units *u, const char *key, size_t len)
{
	uint32_t i, mask = u->hash_cap - 1;

	if (u->hint < u->n && has_key(&u->v[u->hint], key, len))
		return &u->v[u->hint++];
	if (u->hash_cap == 0)
		return NULL;
	i = (uint32_t)((ks_hash_bytes(KS_HASH_INIT, key, len) ^ 0xff) * 0x100000001b3ULL) & mask;
	for (; u->hash[i] != 0; i = (i + 1) & mask) {
		struct ks_unit *unit = &u->v[u->hash[i] - 1];

		if (has_key(unit, key, len)) {
			u->hint = u->hash[i];
			return unit;
		}
	}
	return NULL;
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
	u->hint = u->free_at = 0;
	u->changed = false;
	u->crtime = u->scanned ? u->last + (gethrtime() - u->last) / 2 : 0;
}

/* A slot for one more unit: a free one, or a new one at the end. */
static struct ks_unit *
take_slot(struct ks_units *u)
{
	if (u->dead > 0) {
		/* Slots before free_at were found in use earlier in this scan. */
		for (; u->free_at < u->n; u->free_at++) {
			if (!u->v[u->free_at].alive) {
				u->dead--;
				return &u->v[u->free_at++];
			}
		}
	}
	if (u->n == u->cap) {
		uint32_t cap = u->cap == 0 ? 8 : u->cap * 2;
		struct ks_unit *v = realloc(u->v, cap * sizeof(*v));
		uint32_t *hash;

		if (v == NULL)
			return NULL;
		u->v = v;
		hash = realloc(u->hash, (size_t)cap * 2 * sizeof(*hash));
		if (hash == NULL)
			return NULL;
		u->hash = hash;
		u->hash_cap = cap * 2;
		u->cap = cap;
		hash_fill(u);
	}
	return &u->v[u->n++];
}

struct ks_unit *
ks_units_see(struct ks_units *u, const char *key, size_t len, uint64_t ident, bool *fresh)
{
	struct ks_unit *unit;

	len = key_length(key, len);
	unit = find(u, key, len);
	*fresh = unit == NULL ||
	    (!unit->seen && unit->ident != ident && unit->ident != 0 && ident != 0);
	if (unit == NULL) {
		unit = take_slot(u);
		if (unit == NULL) {
			errno = ENOMEM;
			return NULL;
		}
		memset(unit, 0, sizeof(*unit));
		ks_name_set(unit->key, sizeof(unit->key), key, len);
		unit->alive = true;
		hash_add(u, (uint32_t)(unit - u->v));
		u->hint = (uint32_t)(unit - u->v) + 1;
	}
	if (*fresh) {
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

int
ks_units_end(struct ks_units *u)
{
	bool gone = false;

	for (uint32_t i = 0; i < u->n; i++) {
		struct ks_unit *unit = &u->v[i];

		if (unit->alive && !unit->seen) {
			unit->alive = false;
			free(unit->extra);
			unit->extra = NULL;
			u->dead++;
			gone = true;
		}
	}
	if (gone)
		hash_fill(u);
	u->hint = 0;
	u->scanned = true;
	return gone || u->changed;
}
