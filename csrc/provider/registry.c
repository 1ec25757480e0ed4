/*
 * registry.c - the kstats of this process. See provider.h.
 *
 * One mutex protects the list; it is never held while a provider's own code runs. A kstat that
 * is being read or written is "held", and whoever wants to read or delete it waits.
 * SPDX-License-Identifier: MIT
 */
#include "provider/provider.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/table.h"
#include "model/key.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct ks_provider *first, *last;
	struct ks_provider **provider; /* n of them by their slots */
	size_t n, cap;
	struct ks_table by_name, by_id;
	uint64_t last_id;
	uint64_t changes;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A fork takes a consistent registry along; readers of other threads do not exist in the child. */
static void
before_fork(void)
{
	(void)pthread_mutex_lock(&registry.lock);
}

static void
after_fork_in_parent(void)
{
	(void)pthread_mutex_unlock(&registry.lock);
}

static void
after_fork_in_child(void)
{
	pthread_t self = pthread_self();

	for (struct ks_provider *p = registry.first; p != NULL; p = p->next) {
		if (p->held && !pthread_equal(p->holder, self))
			p->held = false;
	}
	(void)pthread_cond_init(&registry.released, NULL);
	(void)pthread_mutex_unlock(&registry.lock);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void
lock(void)
{
	(void)pthread_once(&once, watch_forks);
	(void)pthread_mutex_lock(&registry.lock);
}

static void
unlock(void)
{
	(void)pthread_mutex_unlock(&registry.lock);
}

static bool
has_name(const void *unused, uint32_t slot, const void *key)
{
	const struct ks_provider *p = registry.provider[slot];

	(void)unused;
	return !p->doomed && ks_key_matches(key, &p->ks);
}

static bool
has_id(const void *unused, uint32_t slot, const void *id)
{
	(void)unused;
	return registry.provider[slot]->id == *(const uint64_t *)id;
}

static uint64_t
hash_name(const struct ks_provider *p)
{
	const struct ks_key key = ks_key_of(&p->ks, KS_BY_ALL);

	return ks_key_hash(&key);
}

/* 0, or -1 with errno ENOMEM. */
static int
enter_tables(struct ks_provider *p)
{
	size_t n = registry.n + 1;

	if (n >= KS_NO_SLOT || !KS_RESERVE(registry.provider, registry.cap, n) ||
	    !ks_table_reserve(&registry.by_name, n) || !ks_table_reserve(&registry.by_id, n))
		return ks_fail(ENOMEM, "out of memory for a kstat");
	p->slot = (uint32_t)registry.n;
	registry.provider[registry.n++] = p;
	(void)ks_table_add(&registry.by_name, hash_name(p), p->slot);
	(void)ks_table_add(&registry.by_id, p->id, p->slot);
	return 0;
}

/* The last kstat of the array moves into the slot of the one that leaves. */
static void
leave_tables(struct ks_provider *p)
{
	struct ks_provider *last = registry.provider[--registry.n];

	(void)ks_table_remove(&registry.by_name, hash_name(p), p->slot);
	(void)ks_table_remove(&registry.by_id, p->id, p->slot);
	if (last == p)
		return;
	(void)ks_table_replace(&registry.by_name, hash_name(last), last->slot, p->slot);
	(void)ks_table_replace(&registry.by_id, last->id, last->slot, p->slot);
	registry.provider[p->slot] = last;
	last->slot = p->slot;
}

static struct ks_provider *
find(const char *module, int instance, const char *name)
{
	const struct ks_key key = { KS_BY_ALL, module, instance, name };
	uint32_t slot = ks_table_find(&registry.by_name, ks_key_hash(&key), has_name, NULL, &key);

	return slot == KS_NO_SLOT ? NULL : registry.provider[slot];
}

static int
exists(const kstat_t *k)
{
	return ks_fail(EEXIST, "%s:%d:%s exists already", k->ks_module, k->ks_instance, k->ks_name);
}

bool (*ks_machine_has)(const char *module, int instance, const char *name);

int
ks_registry_add(struct ks_provider *p)
{
	if (ks_machine_has != NULL && ks_machine_has(p->ks.ks_module, p->ks.ks_instance, p->ks.ks_name))
		return ks_fail(EEXIST, "%s:%d:%s is a kstat of this machine, whose name no other can have",
		    p->ks.ks_module, p->ks.ks_instance, p->ks.ks_name);
	lock();
	if (find(p->ks.ks_module, p->ks.ks_instance, p->ks.ks_name) != NULL) {
		unlock();
		return exists(&p->ks);
	}
	p->id = ++registry.last_id;
	if (enter_tables(p) != 0) {
		unlock();
		return -1;
	}
	p->ks.ks_kid = (kid_t)p->id;
	p->next = NULL;
	p->prev = registry.last;
	if (registry.last != NULL)
		registry.last->next = p;
	else
		registry.first = p;
	registry.last = p;
	unlock();
	return 0;
}

struct ks_provider *
ks_registry_revive(const struct ks_provider *like)
{
	const kstat_t *k = &like->ks;
	struct ks_provider *p;

	lock();
	p = find(k->ks_module, k->ks_instance, k->ks_name);
	if (p == NULL) {
		errno = ENOENT;
	} else if (!(p->ks.ks_flags & KSTAT_FLAG_DORMANT) || p->ks.ks_type != k->ks_type ||
	    p->ks.ks_ndata != k->ks_ndata || p->ks.ks_data_size != k->ks_data_size ||
	    (p->histogram != NULL) != (like->histogram != NULL) ||
	    (p->histogram != NULL && memcmp(&p->histogram->layout, &like->histogram->layout,
	    sizeof(p->histogram->layout)) != 0)) {
		(void)exists(k);
		p = NULL;
	} else {
		p->ks.ks_flags = (uchar_t)(k->ks_flags | KSTAT_FLAG_INVALID);
		registry.changes++;
	}
	unlock();
	return p;
}

void
ks_registry_show(struct ks_provider *p, uchar_t flags)
{
	lock();
	p->ks.ks_flags = (uchar_t)((p->ks.ks_flags | flags) & ~KSTAT_FLAG_INVALID);
	registry.changes++;
	unlock();
}

static void
unlink_and_free(struct ks_provider *p)
{
	leave_tables(p);
	if (p->prev != NULL)
		p->prev->next = p->next;
	else
		registry.first = p->next;
	if (p->next != NULL)
		p->next->prev = p->prev;
	else
		registry.last = p->prev;
	ks_provider_free(p);
}

void
ks_registry_remove(struct ks_provider *p)
{
	lock();
	while (p->held && !pthread_equal(p->holder, pthread_self()))
		(void)pthread_cond_wait(&registry.released, &registry.lock);
	registry.changes++;
	if (p->ks.ks_flags & KSTAT_FLAG_PERSISTENT) {
		/* Its callbacks go with the provider; the data stays. */
		p->ks.ks_flags |= KSTAT_FLAG_DORMANT;
		p->ks.ks_update = NULL;
		p->ks.ks_snapshot = NULL;
		p->ks.ks_private = NULL;
		p->ks.ks_lock = NULL;
	} else if (p->held) {
		p->doomed = true;
	} else {
		unlink_and_free(p);
	}
	unlock();
}

struct ks_provider *
ks_registry_find(const char *module, int instance, const char *name)
{
	struct ks_provider *p;

	lock();
	p = find(module, instance, name);
	unlock();
	return p;
}

uint64_t
ks_registry_changes(void)
{
	uint64_t n;

	lock();
	n = registry.changes;
	unlock();
	return n;
}

static bool
is_visible(const struct ks_provider *p)
{
	return !p->doomed && !(p->ks.ks_flags & KSTAT_FLAG_INVALID);
}

int
ks_registry_walk(int (*fn)(struct ks_provider *p, void *arg), void *arg)
{
	int rc = 0;

	lock();
	for (struct ks_provider *p = registry.first; p != NULL && rc == 0; p = p->next) {
		if (is_visible(p))
			rc = fn(p, arg);
	}
	unlock();
	return rc;
}

static struct ks_provider *
find_id(uint64_t id)
{
	uint32_t slot = ks_table_find(&registry.by_id, id, has_id, NULL, &id);

	return slot != KS_NO_SLOT && is_visible(registry.provider[slot]) ? registry.provider[slot] : NULL;
}

struct ks_provider *
ks_registry_hold(uint64_t id)
{
	struct ks_provider *p;

	lock();
	while ((p = find_id(id)) != NULL && p->held) {
		if (pthread_equal(p->holder, pthread_self())) {
			unlock();
			return ks_fail_null(EDEADLK, "%s:%d:%s is being read by its own update function",
			    p->ks.ks_module, p->ks.ks_instance, p->ks.ks_name);
		}
		(void)pthread_cond_wait(&registry.released, &registry.lock);
	}
	if (p != NULL) {
		p->held = true;
		p->holder = pthread_self();
	}
	unlock();
	return p != NULL ? p : ks_fail_null(ENXIO, "the kstat was deleted");
}

void
ks_registry_release(struct ks_provider *p)
{
	lock();
	p->held = false;
	if (p->doomed)
		unlink_and_free(p);
	(void)pthread_cond_broadcast(&registry.released);
	unlock();
}
