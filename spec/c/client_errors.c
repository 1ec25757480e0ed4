/*
 * client_errors.c - checks the errno of each thing that goes wrong in libkstat, as its manual page has them. It
 * reads the tree that the environment names. Usage: client_errors
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "kstat_provider.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static kstat_ctl_t *kc;

static kstat_t *
find(const char *module, const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, (char *)module, 0, (char *)name);
}

/* EINVAL: a wrong type, no data, no handle. ENOENT: no such name. */
static void
lookups(void)
{
	kstat_t *raw = find("unix", "sysinfo"), *named = find("unix", "system_misc");

	CHECK(kstat_lookup(kc, "unix", 0, "nothing") == NULL && errno == ENOENT);
	CHECK(kstat_lookup(NULL, "unix", 0, "sysinfo") == NULL && errno == EINVAL);
	CHECK(kstat_chain_update(NULL) == -1 && errno == EINVAL);
	CHECK(kstat_close(NULL) == -1 && errno == EINVAL);
	CHECK(kstat_read(kc, NULL, NULL) == -1 && errno == EINVAL);
	CHECK(kstat_read(NULL, raw, NULL) == -1 && errno == EINVAL);
	CHECK(kstat_data_lookup(named, "ncpus") == NULL && errno == EINVAL); /* it was not read */
	CHECK(kstat_read(kc, raw, NULL) > 0 && kstat_read(kc, named, NULL) > 0);
	CHECK(kstat_data_lookup(raw, "ncpus") == NULL && errno == EINVAL);
	CHECK(kstat_data_lookup(named, "nothing") == NULL && errno == ENOENT);
	CHECK(kstat_data_lookup(named, "ncpus") != NULL);
}

/* A kstat of one text that can become longer. */
static kstat_t *
create_text(const char *text)
{
	kstat_t *p = kstat_create("client", 0, "text", "misc", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_WRITABLE);
	kstat_named_t *kn = p->ks_data;

	kstat_named_init(kn, "text", KSTAT_DATA_STRING);
	CHECK(kstat_named_setstr(kn, text) == 0 && kstat_install(p) == 0);
	return p;
}

/* EOVERFLOW: the data outgrew the header. A buffer of the header's size is never overrun, however often it is tried. */
static void
growth(void)
{
	kstat_t *p = create_text("short"), *k = find("client", "text");
	size_t size = k->ks_data_size;
	char *buf = malloc(size);

	CHECK((k->ks_flags & KSTAT_FLAG_LONGSTRINGS) != 0 && size >= sizeof(kstat_named_t) + 6);
	CHECK(kstat_read(kc, k, buf) > 0);
	CHECK(strcmp(KSTAT_NAMED_STR_PTR((kstat_named_t *)(void *)buf), "short") == 0);
	CHECK(kstat_named_setstr(p->ks_data, "") == 0 && kstat_read(kc, k, buf) > 0);
	CHECK(k->ks_data_size == size);
	CHECK(kstat_named_setstr(p->ks_data, "a text that is longer than the one at first") == 0);
	for (int i = 0; i < 3; i++)
		CHECK(kstat_read(kc, k, buf) == -1 && errno == EOVERFLOW && k->ks_data_size == size);
	CHECK(strcmp(KSTAT_NAMED_STR_PTR((kstat_named_t *)(void *)buf), "") == 0);
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_data_size > size);
	free(buf);
	buf = malloc(k->ks_data_size);
	CHECK(kstat_read(kc, k, buf) > 0);
	free(buf);
	kstat_delete(p);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENXIO);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == ENXIO);
}

/* EACCES: it is not writable. EINVAL: what is written is not its data. */
static void
writes(void)
{
	kstat_t *p = create_text("text"), *k = find("unix", "system_misc");
	kstat_t *fixed = kstat_create("client", 0, "fixed", "misc", KSTAT_TYPE_RAW, 4, 0);
	kstat_named_t other;

	CHECK(kstat_create("unix", 0, "system_misc", "misc", KSTAT_TYPE_NAMED, 1, 0) == NULL && errno == EEXIST &&
	    strstr(kstat_errmsg(), "unix:0:system_misc is a kstat of this machine") != NULL);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EACCES);
	CHECK(kstat_install(fixed) == 0);
	k = find("client", "fixed");
	CHECK(kstat_read(kc, k, NULL) > 0 && kstat_write(kc, k, NULL) == -1 && errno == EACCES);
	kstat_delete(fixed);
	k = find("client", "text");
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);
	CHECK(kstat_read(kc, k, NULL) > 0 && kstat_write(kc, k, NULL) > 0);
	kstat_named_init(&other, "other", KSTAT_DATA_STRING);
	CHECK(kstat_write(kc, k, &other) == -1 && errno == EINVAL);
	kstat_delete(p);
}

static int
refuse(kstat_t *ksp, int rw)
{
	(void)ksp;
	return rw == KSTAT_READ ? ENOMEM : EPERM;
}

/* What an update function refuses with; a kstat that is left alone keeps its times. */
static void
refusals(void)
{
	kstat_t *p = create_text("text"), *k = find("client", "text");
	hrtime_t when;

	CHECK(kstat_read(kc, k, NULL) > 0);
	when = k->ks_snaptime;
	p->ks_update = refuse;
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENOMEM && k->ks_snaptime == when);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EPERM);
	kstat_delete(p);
}

/* ENOMEM: there is no memory for the data. */
static void
memory(void)
{
	static char bytes[1 << 26];
	kstat_t *p, *k;
	struct rlimit limit;

	if (SANITIZED)
		return;
	p = kstat_create("client", 0, "large", "misc", KSTAT_TYPE_RAW, sizeof(bytes), KSTAT_FLAG_VIRTUAL);
	p->ks_data = bytes;
	CHECK(kstat_install(p) == 0);
	k = find("client", "large");
	CHECK(k->ks_ndata == sizeof(bytes) && k->ks_data_size == sizeof(bytes));
	CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){ sizeof(bytes) * 3 / 2, limit.rlim_max }) == 0);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENOMEM && k->ks_data == NULL);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	kstat_delete(p);
}

/* EPERM: the kstat is writable, and this user may not. Only root can become another user here. */
static void
other_user(void)
{
	kstat_pub_t *pub = kstat_publish("client", 0);
	kstat_t *p = kstat_publish_create(pub, "client", 0, "published", "misc", KSTAT_TYPE_NAMED, 1,
	    KSTAT_FLAG_WRITABLE), *k;
	pid_t child = -1;
	int status = 0;

	kstat_named_init(p->ks_data, "number", KSTAT_DATA_UINT64);
	CHECK(kstat_install(p) == 0);
	k = find("client", "published");
	CHECK(k != NULL && k->ks_ndata == 1 && k->ks_data_size == sizeof(kstat_named_t));
	CHECK(kstat_read(kc, k, NULL) > 0 && kstat_write(kc, k, NULL) > 0);
	if (geteuid() == 0 && (child = fork()) == 0)
		_exit(setuid(65534) == 0 && kstat_write(kc, k, NULL) == -1 && errno == EPERM ? 0 : 1);
	CHECK(geteuid() != 0 || (waitpid(child, &status, 0) == child && status == 0));
	kstat_delete(p);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENXIO);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == ENXIO);
	kstat_unpublish(pub);
}

int
main(void)
{
	kc = kstat_open();
	if (kc == NULL)
		return 1;
	lookups();
	growth();
	writes();
	refusals();
	memory();
	other_user();
	kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return 0;
}
