/*
 * client_header.c - checks that the header of each kstat of the chain is true before the first read: a program
 * allocates as many bytes as it says and reads into them. Prints "module:instance:name type ndata size", as before
 * the read, and what was not so. Usage: client_header [provide], with the environment of kstat_open(3); with the
 * word, this process has kstats of each type, and publishes such.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kstat_provider.h"

/* The size of one data record; 0 if it has any. */
static const size_t record_size[] = { 1, sizeof(kstat_named_t), sizeof(kstat_intr_t), sizeof(kstat_io_t),
	sizeof(kstat_timer_t) };

/* Unused bytes of a value are 0, texts lie in the buffer, and the flags say that there are some. */
static void
check_values(const kstat_named_t *kn, uint_t n, const char *buf, size_t size, uchar_t flags)
{
	static const char zeros[sizeof(kn->value)];

	for (uint_t i = 0; i < n; i++, kn++) {
		const char *value = (const char *)&kn->value, *text = KSTAT_NAMED_STR_PTR(kn);

		switch (kn->data_type) {
		case KSTAT_DATA_INT32:
		case KSTAT_DATA_UINT32:
			CHECK(memcmp(value + 4, zeros, sizeof(zeros) - 4) == 0);
			break;
		case KSTAT_DATA_INT64:
		case KSTAT_DATA_UINT64:
			CHECK(memcmp(value + 8, zeros, sizeof(zeros) - 8) == 0);
			break;
		case KSTAT_DATA_STRING:
			CHECK((flags & KSTAT_FLAG_LONGSTRINGS) != 0);
			if (text == NULL)
				CHECK(KSTAT_NAMED_STR_BUFLEN(kn) == 0);
			else
				CHECK(text > buf && text + KSTAT_NAMED_STR_BUFLEN(kn) <= buf + size &&
				    text[KSTAT_NAMED_STR_BUFLEN(kn) - 1] == '\0');
			break;
		default: /* no other type is known to programs written for illumos */
			CHECK(kn->data_type == KSTAT_DATA_CHAR);
			break;
		}
	}
}

static void
check_unread(const kstat_t *ksp)
{
	CHECK(ksp->ks_data == NULL && ksp->ks_snaptime == ksp->ks_crtime);
	errno = 0;
	CHECK(kstat_data_lookup((kstat_t *)ksp, "no such name") == NULL && errno == EINVAL);
	CHECK(ksp->ks_type < KSTAT_NUM_TYPES);
	if (ksp->ks_ndata > 0 && ksp->ks_type < KSTAT_NUM_TYPES)
		CHECK(ksp->ks_data_size >= ksp->ks_ndata * record_size[ksp->ks_type]);
	if (ksp->ks_type == KSTAT_TYPE_IO || ksp->ks_type == KSTAT_TYPE_INTR)
		CHECK(ksp->ks_ndata == 1);
	if (ksp->ks_type != KSTAT_TYPE_NAMED)
		CHECK(ksp->ks_data_size == ksp->ks_ndata * record_size[ksp->ks_type]);
}

/* Reads twice into memory of exactly the size that the header said: a larger record may not overrun it. */
static void
check_reading(kstat_ctl_t *kc, kstat_t *ksp)
{
	size_t size = ksp->ks_data_size;
	uint_t n = ksp->ks_ndata;
	uchar_t flags = ksp->ks_flags;
	int is_known = size > 0;
	char *buf = malloc(size);
	kid_t id;

	if (!is_known) {
		id = kstat_read(kc, ksp, NULL);
		free(buf);
		size = ksp->ks_data_size;
		buf = malloc(size);
		if (id == -1)
			goto done;
	}
	for (int i = 0; i < 2; i++) {
		id = kstat_read(kc, ksp, buf);
		if (id == -1 && (errno == ENXIO || errno == EAGAIN || errno == EIO || errno == EACCES || errno == ENODEV))
			goto done;
		CHECK(id > 0 && id == kc->kc_chain_id);
		if (id <= 0) {
			printf("%s:%d:%s\n", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
			goto done;
		}
		CHECK(!is_known || (ksp->ks_data_size == size && ksp->ks_ndata == n));
		CHECK(ksp->ks_type != KSTAT_TYPE_RAW || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) != 0 ||
		    (ksp->ks_flags & KSTAT_FLAG_VAR_SIZE) != 0 || ksp->ks_ndata == ksp->ks_data_size);
		if (ksp->ks_type == KSTAT_TYPE_NAMED)
			check_values((const kstat_named_t *)(void *)buf, ksp->ks_ndata, buf, size, is_known ? flags : ksp->ks_flags);
	}
done:
	free(buf);
}

/* Creates one kstat of that type, published if pub is not NULL. */
static kstat_t *
create(kstat_pub_t *pub, const char *name, uchar_t type, uint_t n)
{
	const char *module = pub != NULL ? "published" : "own";

	return pub != NULL ? kstat_publish_create(pub, module, 0, name, "misc", type, n, 0) :
	    kstat_create(module, 0, name, "misc", type, n, 0);
}

/* Kstats of each type and each kind of value; `ints` is never freed. */
static void
provide(kstat_pub_t *pub)
{
	static const uint64_t ints[] = { 1, 2, 3 };
	const char *path[] = { "misc", pub != NULL ? "published" : "own", "histogram" };
	kstat_t *named = create(pub, "named", KSTAT_TYPE_NAMED, 6), *timers = create(pub, "timers", KSTAT_TYPE_TIMER, 2);
	kstat_t *others[] = { create(pub, "raw", KSTAT_TYPE_RAW, 33), create(pub, "intr", KSTAT_TYPE_INTR, 1),
		create(pub, "io", KSTAT_TYPE_IO, 1), named, timers, pub != NULL ?
		kstat2_publish_histogram(pub, path, 3, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_CNT, 1, 0, 0, 0, 0, 0, "", 0) :
		kstat2_create_histogram(path, 3, ALL_ZONES, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_CNT, 1, 0, NULL, 0, 0, 0, 0,
		0, "", 0) };
	kstat_named_t *kn = named->ks_data;

	kstat_named_init(&kn[0], "u32", KSTAT_DATA_UINT32);
	kstat_named_init(&kn[1], "text", KSTAT_DATA_STRING);
	CHECK(kstat_named_setstr(&kn[1], "some text") == 0);
	kstat_named_init(&kn[2], "ints", KSTAT_DATA_INTS);
	CHECK(kstat_named_setints(&kn[2], ints, 3) == 0);
	kstat_named_init(&kn[3], "strs", KSTAT_DATA_STRS);
	CHECK(kstat_named_setstrs(&kn[3], "a\0b", 4) == 0);
	kstat_named_init(&kn[4], "chars", KSTAT_DATA_CHAR);
	kstat_named_init(&kn[5], "null", KSTAT_DATA_STRING);
	kstat_timer_init(timers->ks_data, "one");
	kstat_timer_init((kstat_timer_t *)timers->ks_data + 1, "two");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(others[i] != NULL && kstat_install(others[i]) == 0);
}

int
main(int argc, char **argv)
{
	kstat_ctl_t *kc;

	if (argc > 1 && strcmp(argv[1], "provide") == 0) {
		provide(NULL);
		provide(kstat_publish("headers", 0));
	}
	kc = kstat_open();
	if (kc == NULL) {
		printf("%s\n", kstat_errmsg());
		return 1;
	}
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		printf("%s:%d:%s %d %u %zu\n", ksp->ks_module, ksp->ks_instance, ksp->ks_name, ksp->ks_type,
		    ksp->ks_ndata, ksp->ks_data_size);
		check_unread(ksp);
		check_reading(kc, ksp);
	}
	CHECK(kstat_close(kc) == 0);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
