/*
 * process.c - the functions of the manual page that take no handle of ours: they share one
 * chain, opened by the first call. SPDX-License-Identifier: MIT
 *
 * This is the floor's only mutable state besides devstat_errbuf. The lock also keeps threads
 * off each other's chain; a child of fork() opens its own.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "devstat.h"
#include "devstat/errbuf.h"
#include "devstat/snapshot.h"

static struct {
	pthread_mutex_t lock;
	kstat_ctl_t *kc;
	devstat_list_t *list;
	pid_t owner;
} process = { PTHREAD_MUTEX_INITIALIZER, NULL, NULL, 0 };

static void
close_locked(void)
{
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

/* Opens or updates the chain. On success (0) the lock is held. */
static int
enter(kvm_t *kd, const char *function)
{
	if (check_handle(kd, function) != 0)
		return -1;
	(void)pthread_mutex_lock(&process.lock);
	if (process.kc != NULL && process.owner != getpid())
		close_locked();
	if (process.kc == NULL) {
		process.owner = getpid();
		process.kc = kstat_open();
		if (process.kc != NULL)
			process.list = devstat_list_open(process.kc);
		if (process.list == NULL)
			goto fail;
	} else if (kstat_chain_update(process.kc) == -1) {
		goto fail;
	}
	return 0;
fail:
	(void)ks_devstat_fail(errno, "%s: %s", function, kstat_errmsg());
	if (process.list == NULL)
		close_locked();
	(void)pthread_mutex_unlock(&process.lock);
	return -1;
}

static int
count(kvm_t *kd, const char *function, long *generation)
{
	int n;

	if (enter(kd, function) != 0)
		return -1;
	n = ks_devstat_list_count(process.list, generation);
	(void)pthread_mutex_unlock(&process.lock);
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
	/* Library and structures are compiled together: only the handle can be wrong. */
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
	(void)pthread_mutex_unlock(&process.lock);
	return ret;
}

void
devstat_close(void)
{
	(void)pthread_mutex_lock(&process.lock);
	close_locked();
	(void)pthread_mutex_unlock(&process.lock);
}
