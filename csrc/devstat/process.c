/*
 * process.c - the functions of the manual page that take no handle: they share one chain, which the first
 * call opens.
 *
 * That chain and devstat_errbuf are the only mutable state of this folder. A lock keeps threads from using
 * the chain at the same time, and a child of fork() opens a chain of its own. fork() does not wait for the
 * lock, because it is held while update functions of this process's kstats run, which may themselves fork or
 * never end.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "chain/chain.h"
#include "devstat/device.h"

static struct {
	pthread_mutex_t lock;
	kstat_ctl_t *kc;
	devstat_list_t *list;
	pid_t owner;    /* the process that opened it */
	bool inherited; /* this process was forked since */
	long generation; /* the last of a closed list; the next list continues it, so that none occurs twice */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* This thread holds the lock. An update function that it runs may call these functions again. */
static _Thread_local bool inside;

static void
after_fork_in_child(void)
{
	process.inherited = true;
	if (inside)
		return; /* an update function forked: the call continues in the child, too, and unlocks there */
	if (pthread_mutex_trylock(&process.lock) != 0) {
		/* The chain is abandoned, not closed: a thread that the child does not have was changing it. */
		if (process.list != NULL)
			process.generation = ks_devstat_list_generation(process.list) + 1;
		process.kc = NULL;
		process.list = NULL;
	}
	(void)pthread_mutex_init(&process.lock, NULL);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

static int
lock(const char *function)
{
	if (inside)
		return ks_devstat_fail(EDEADLK, "%s: called by an update function that it calls itself",
		    function);
	(void)pthread_once(&once, watch_forks);
	(void)pthread_mutex_lock(&process.lock);
	inside = true;
	return 0;
}

static void
unlock(void)
{
	inside = false;
	(void)pthread_mutex_unlock(&process.lock);
}

static void
close_locked(void)
{
	if (process.list != NULL)
		process.generation = ks_devstat_list_generation(process.list);
	devstat_list_close(process.list);
	if (process.kc != NULL)
		(void)kstat_close(process.kc);
	process.list = NULL;
	process.kc = NULL;
}

static int
check_handle(const kvm_t *kd, const char *function)
{
	if (kd == NULL)
		return 0;
	return ks_devstat_fail(ENOTSUP, "%s: there is no kvm here: pass NULL as handle", function);
}

static int
open_locked(void)
{
	process.inherited = false;
	process.owner = getpid();
	process.kc = ks_chain_open(NULL);
	if (process.kc != NULL)
		process.list = devstat_list_open(process.kc);
	if (process.list == NULL)
		return -1;
	ks_devstat_list_follow(process.list, process.generation);
	return 0;
}

/*
 * Devices that a lack of memory or descriptors hides are not gone: 0 with the lock held if there is no such lack, else
 * -1 without it. The next call opens the chain anew.
 */
static int
check_complete(const char *function)
{
	if (!ks_chain_damaged(process.kc) || ks_chain_is_replay(process.kc))
		return 0;
	close_locked();
	unlock();
	return ks_devstat_fail(ENOMEM, "%s: devices are missing for want of memory or descriptors", function);
}

/* Opens or updates the chain. Returns 0 with the lock held, or -1 without it. */
static int
enter(kvm_t *kd, const char *function)
{
	int error;

	if (check_handle(kd, function) != 0 || lock(function) != 0)
		return -1;
	/* Not every way to fork calls the handlers of pthread_atfork(). */
	if (process.inherited || process.owner != getpid())
		close_locked();
	if ((process.kc == NULL ? open_locked() : kstat_chain_update(process.kc)) != -1)
		return check_complete(function);
	error = errno;
	(void)ks_devstat_fail(error, "%s: %s", function, kstat_errmsg());
	if (process.list == NULL)
		close_locked();
	unlock();
	errno = error;
	return -1;
}

static int
count(kvm_t *kd, const char *function, long *generation)
{
	int n;

	if (enter(kd, function) != 0)
		return -1;
	n = ks_devstat_list_count(process.list, generation);
	unlock();
	return n;
}

int
devstat_getnumdevs(kvm_t *kd)
{
	devstat_errbuf[0] = '\0';
	return count(kd, __func__, NULL);
}

long
devstat_getgeneration(kvm_t *kd)
{
	long generation;

	devstat_errbuf[0] = '\0';
	return count(kd, __func__, &generation) == -1 ? -1 : generation;
}

int
devstat_getversion(kvm_t *kd)
{
	devstat_errbuf[0] = '\0';
	return check_handle(kd, __func__) == 0 ? DEVSTAT_VERSION : -1;
}

int
devstat_checkversion(kvm_t *kd)
{
	/* The library and its structures are compiled together, so only the handle can be wrong. */
	devstat_errbuf[0] = '\0';
	return check_handle(kd, __func__);
}

int
devstat_getdevs(kvm_t *kd, struct statinfo *stats)
{
	int ret;

	devstat_errbuf[0] = '\0';
	if (enter(kd, __func__) != 0)
		return -1;
	ret = ks_devstat_list_read(process.list, stats, NULL);
	if (check_complete(__func__) != 0)
		return -1;
	unlock();
	return ret;
}

void
devstat_close(void)
{
	if (lock(__func__) != 0)
		return;
	close_locked();
	unlock();
}
