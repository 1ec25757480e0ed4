/*
 * key.h - keys by which kstats are looked up: module, instance and name, or some of them.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_KEY_H
#define MODEL_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "kstat.h"

/* Which of module, instance and name a key has. */
enum { KS_BY_MODULE = 1, KS_BY_INSTANCE = 2, KS_BY_NAME = 4, KS_BY_ALL = 7 };

struct ks_key {
	int by;
	const char *module;
	int instance;
	const char *name;
};

static inline struct ks_key
ks_key_of(const kstat_t *k, int by)
{
	return (struct ks_key){ by, k->ks_module, k->ks_instance, k->ks_name };
}

static inline uint64_t
ks_key_hash(const struct ks_key *key)
{
	uint64_t h = KS_HASH_INIT;

	if (key->by & KS_BY_MODULE)
		h = ks_hash_string(h, key->module);
	if (key->by & KS_BY_INSTANCE)
		h = ks_hash_bytes(h, &key->instance, sizeof(key->instance));
	if (key->by & KS_BY_NAME)
		h = ks_hash_string(h, key->name);
	return h;
}

static inline bool
ks_key_matches(const struct ks_key *key, const kstat_t *k)
{
	return (!(key->by & KS_BY_INSTANCE) || k->ks_instance == key->instance) &&
	    (!(key->by & KS_BY_MODULE) || strcmp(k->ks_module, key->module) == 0) &&
	    (!(key->by & KS_BY_NAME) || strcmp(k->ks_name, key->name) == 0);
}

#endif
