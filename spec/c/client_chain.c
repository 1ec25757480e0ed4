/*
 * client_chain.c - checks what programs written for illumos expect of a chain: its IDs, its first kstats, its
 * descriptor, and what an update leaves alone. It reads the tree that the environment names.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "kstat2.h"
#include "kstat_provider.h"

static kstat_ctl_t *kc;

/* A kstat of this process with one number and one array. */
static kstat_t *
create(const char *name)
{
	static uint64_t ints[] = { 1, 2, 3 };
	kstat_t *p = kstat_create("client", 0, name, "misc", KSTAT_TYPE_NAMED, 3, 0);
	kstat_named_t *kn = p->ks_data;

	kstat_named_init(&kn[0], "array", KSTAT_DATA_INTS);
	kn[0].value.string.addr.ints = ints;
	kn[0].value.string.len = sizeof(ints);
	kstat_named_init(&kn[1], "number", KSTAT_DATA_UINT32);
	memset(&kn[1].value, 0xff, sizeof(kn[1].value));
	kn[1].value.ui32 = 7;
	kstat_named_init(&kn[2], "share", KSTAT_DATA_DOUBLE);
	CHECK(kstat_install(p) == 0);
	return p;
}

static void
beginning(void)
{
	const kstat_t *k = kc->kc_chain;
	kid_t last = -1;

	CHECK(strcmp(k->ks_name, "kstat_headers") == 0 && k->ks_kid == 0);
	CHECK(strcmp(k->ks_next->ks_name, "kstat_types") == 0 && k->ks_next->ks_kid == 1);
	for (; k != NULL; k = k->ks_next) {
		CHECK(k->ks_kid > last && (k->ks_flags & KSTAT_FLAG_INVALID) == 0);
		last = k->ks_kid;
	}
}

/* Programs find in kstat_headers which module has a kstat. */
static void
headers(void)
{
	kstat_t *all = kstat_lookup(kc, "unix", 0, "kstat_headers");
	const kstat_t *copy, *k = kc->kc_chain;
	uint_t n = 0;

	CHECK(all->ks_ndata == 0 && all->ks_data_size == 0 && (all->ks_flags & KSTAT_FLAG_VAR_SIZE) != 0);
	CHECK(kstat_read(kc, all, NULL) > 0);
	CHECK(all->ks_data_size == all->ks_ndata * sizeof(kstat_t));
	for (copy = all->ks_data; k != NULL && n < all->ks_ndata; k = k->ks_next, n++, copy++)
		CHECK(copy->ks_kid == k->ks_kid && strcmp(copy->ks_name, k->ks_name) == 0);
	CHECK(k == NULL && n == all->ks_ndata);
}

static void
descriptor(void)
{
	kstat_ctl_t *other = kstat_open();
	int fd = other->kc_kd;

	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(kstat_close(other) == 0 && fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

/* The first kstats of these names are a CPU's. */
static void
first_of_a_name(void)
{
	static const char *const names[] = { "sys", "vm" };

	for (int i = 0; i < 2; i++) {
		const kstat_t *k = kstat_lookup(kc, NULL, -1, (char *)names[i]);

		CHECK(k != NULL && strcmp(k->ks_module, "cpu") == 0);
		CHECK(kstat_lookup(kc, "unix", 0, (char *)names[i]) != NULL);
	}
}

/* What did not change stays where it is, with its data; a kstat that was created anew is another one, at the end. */
static void
updates(void)
{
	kstat_t *p = create("anew"), *old, *new, copy;
	kstat_t *stays = kstat_lookup(kc, "cpu_stat", -1, NULL);
	void *data;
	kid_t id = kc->kc_chain_id, read;

	CHECK(kstat_chain_update(kc) == kc->kc_chain_id && kc->kc_chain_id > 0 && kc->kc_chain_id != id);
	CHECK(kstat_chain_update(kc) == 0);
	read = kstat_read(kc, stays, NULL);
	CHECK(read > 0 && read == kc->kc_chain_id);
	data = stays->ks_data;
	old = kstat_lookup(kc, "client", 0, "anew");
	CHECK(kstat_read(kc, old, NULL) > 0);
	copy = *old;
	copy.ks_data = NULL;
	kstat_delete(p);
	p = create("anew");
	CHECK(kstat_read(kc, old, NULL) == -1 && errno == ENXIO);
	CHECK(kstat_chain_update(kc) > 0);
	CHECK(kstat_read(kc, &copy, NULL) == -1 && errno == ENXIO);
	new = kstat_lookup(kc, "client", 0, "anew");
	CHECK(new->ks_kid > copy.ks_kid && new->ks_next == NULL && new->ks_data == NULL);
	CHECK(kstat_lookup(kc, "cpu_stat", -1, NULL) == stays && stays->ks_data == data);
	copy = *new;
	kstat_delete(p);
	CHECK(kstat_chain_update(kc) > 0 && kstat_lookup(kc, "client", 0, "anew") == NULL && errno == ENOENT);
	p = create("anew");
	CHECK(kstat_chain_update(kc) > 0 && kstat_lookup(kc, "client", 0, "anew")->ks_kid > copy.ks_kid);
	CHECK(kstat_read(kc, &copy, NULL) == -1 && errno == ENXIO);
	kstat_delete(p);
	CHECK(kstat_chain_update(kc) > 0);
}

/* Values of types that illumos does not have are there for those that ask. */
static void
types(void)
{
	kstat_t *p = create("types"), *k;
	const kstat_named_t *kn;

	CHECK(kstat_chain_update(kc) > 0);
	k = kstat_lookup(kc, "client", 0, "types");
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 1);
	kn = kstat_data_lookup(k, "number");
	CHECK(kn != NULL && kn->value.ul == 7 && kn == k->ks_data);
	CHECK(kstat_data_lookup(k, "array") == NULL && kstat_data_lookup(k, "share") == NULL && errno == ENOENT);
	CHECK(kstat2_all_types(NULL) == -1 && errno == EINVAL);
	CHECK(kstat2_all_types(kc) == 0);
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 3);
	kn = kstat_data_lookup(k, "array");
	CHECK(kn != NULL && kn->value.string.addr.ints[2] == 3);
	kstat_delete(p);
}

/* Names have 30 bytes, a CHAR may fill its 16 without a NUL, and the null string has the length 0. */
static void
limits(void)
{
	kstat_t *p = kstat_create("client", 0, "a name that is cut behind thirty", "misc", KSTAT_TYPE_NAMED, 2, 0), *k;
	const kstat_named_t *kn;

	kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "a statistic whose name is cut as well", KSTAT_DATA_CHAR);
	memcpy(KSTAT_NAMED_PTR(p)[0].value.c, "0123456789abcdef", 16);
	kstat_named_init(&KSTAT_NAMED_PTR(p)[1], "null", KSTAT_DATA_STRING);
	CHECK(kstat_install(p) == 0 && kstat_chain_update(kc) > 0);
	k = kstat_lookup(kc, "client", 0, "a name that is cut behind thir");
	CHECK(k != NULL && kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "a statistic whose name is cut ");
	CHECK(kn != NULL && memcmp(kn->value.c, "0123456789abcdef", 16) == 0);
	kn = kstat_data_lookup(k, "null");
	CHECK(kn != NULL && KSTAT_NAMED_STR_PTR(kn) == NULL && KSTAT_NAMED_STR_BUFLEN(kn) == 0);
	kstat_delete(p);
	CHECK(kstat_chain_update(kc) > 0);
}

/* A kstat is in the chain from its installation; a persistent one keeps its ID and values when it is deleted. */
static void
lives(void)
{
	kstat_t *p = kstat_create("client", 0, "lives", "misc", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_PERSISTENT), *k;
	hrtime_t crtime;
	kid_t kid;

	kstat_named_init(KSTAT_NAMED_PTR(p), "number", KSTAT_DATA_UINT64);
	KSTAT_NAMED_PTR(p)->value.ui64 = 5;
	CHECK(kstat_chain_update(kc) == 0 && kstat_lookup(kc, "client", 0, "lives") == NULL);
	CHECK(kstat_install(p) == 0 && kstat_chain_update(kc) > 0);
	k = kstat_lookup(kc, "client", 0, "lives");
	kid = k->ks_kid;
	crtime = k->ks_crtime;
	kstat_delete(p);
	CHECK(kstat_chain_update(kc) == 0);
	CHECK((k->ks_flags & KSTAT_FLAG_DORMANT) != 0 && kstat_read(kc, k, NULL) > 0);
	CHECK(((kstat_named_t *)kstat_data_lookup(k, "number"))->value.ui64 == 5);
	p = kstat_create("client", 0, "lives", "misc", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_PERSISTENT);
	CHECK(kstat_install(p) == 0 && kstat_chain_update(kc) == 0);
	CHECK(kstat_lookup(kc, "client", 0, "lives") == k && k->ks_kid == kid && k->ks_crtime == crtime);
	CHECK((k->ks_flags & KSTAT_FLAG_DORMANT) == 0);
}

int
main(void)
{
	kc = kstat_open();
	if (kc == NULL)
		return 1;
	beginning();
	headers();
	descriptor();
	first_of_a_name();
	updates();
	limits();
	lives();
	types();
	kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return 0;
}
