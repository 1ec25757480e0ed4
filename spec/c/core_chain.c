/*
 * core_chain.c - exercises the chain over a source made up here: says which checks fail, and
 * how many there were. Usage: core_chain [number of kstats]. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "chain/sample.h"
#include "select/selector.h"
#include "source/source.h"

/* Kstats numbered from `first` to `last`, the odd ones of module "odd", created at `epoch`. */
struct synthetic {
	struct ks_source base;
	int first, last;
	hrtime_t epoch;
	uint64_t reads;
};

static int
synthetic_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct synthetic *s = (struct synthetic *)src;

	for (int i = s->first; i < s->last; i++) {
		char name[32];
		struct ks_offer offer = { .module = i % 2 ? "odd" : "even", .instance = i,
			.name = name, .class_ = "misc", .type = KSTAT_TYPE_NAMED, .crtime = s->epoch,
			.ndata = 5, .data_size = 5 * sizeof(kstat_named_t) + 32, .cookie = (uint64_t)i };

		(void)snprintf(name, sizeof(name), "n%d", i % 1000);
		if (ks_scan_offer(scan, &offer) != 0)
			return -1;
	}
	return 1;
}

static int
synthetic_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	static const uint64_t ints[] = { 1, UINT64_MAX };
	struct synthetic *s = (struct synthetic *)src;

	(void)ksp;
	ks_named_u64(r, "number", cookie);
	ks_named_string(r, "text", "some text", 9);
	ks_named_string(r, "nothing", NULL, 0);
	ks_named_ints(r, "ints", ints, 2);
	ks_named_u64(r, "reads", ++s->reads);
	r->snaptime = 5;
	return 0;
}

static void
synthetic_close(struct ks_source *src)
{
	free(src);
}

static const struct ks_source_ops synthetic_ops = {
	.name = "synthetic", .scan = synthetic_scan, .read = synthetic_read, .close = synthetic_close
};

static int checks, failures;

#define CHECK(expr) do { \
		checks++; \
		if (!(expr)) { \
			failures++; \
			printf("line %d: not so: %s\n", __LINE__, #expr); \
		} \
	} while (0)

static void
reading(kstat_ctl_t *kc, kstat_t *ksp)
{
	_Alignas(8) char buf[1024];
	kstat_named_t *kn;
	kstat_t copy;

	CHECK(kstat_data_lookup(ksp, "text") == NULL && errno == EINVAL);
	CHECK(kstat_read(kc, ksp, buf) == kc->kc_chain_id);
	CHECK(ksp->ks_ndata == 5);
	CHECK(ksp->ks_snaptime == 5);
	kn = kstat_data_lookup(ksp, "text");
	CHECK(strcmp(KSTAT_NAMED_STR_PTR(kn), "some text") == 0);
	CHECK(KSTAT_NAMED_STR_BUFLEN(kn) == 10);
	CHECK(kstat_data_lookup(ksp, "nosuch") == NULL && errno == ENOENT);
	/* The copy's strings lie in the copy. */
	kn = (kstat_named_t *)(void *)buf;
	CHECK(KSTAT_NAMED_STR_PTR(kn + 1) > buf && KSTAT_NAMED_STR_PTR(kn + 1) < buf + sizeof(buf));
	CHECK(KSTAT_NAMED_STR_PTR(kn + 2) == NULL);
	CHECK(kn[3].value.string.addr.ints[1] == UINT64_MAX);
	CHECK(kstat_write(kc, ksp, NULL) == -1 && errno == EACCES);
	/* A copy of the header reads into memory of its own. */
	copy = *ksp;
	copy.ks_data = NULL;
	CHECK(kstat_read(kc, &copy, NULL) > 0 && copy.ks_data != ksp->ks_data);
	free(copy.ks_data);
	copy.ks_kid = 0;
	copy.ks_data = NULL;
	CHECK(kstat_read(kc, &copy, NULL) == -1 && errno == ENXIO);
}

static void
updating(kstat_ctl_t *kc, struct synthetic *s, int n)
{
	kid_t before = kc->kc_chain_id;
	kstat_t *first = kc->kc_chain;
	size_t changes;

	CHECK(kstat_chain_update(kc) == 0);
	CHECK(kc->kc_chain_id == before);
	s->last++;
	CHECK(kstat_chain_update(kc) == kc->kc_chain_id && kc->kc_chain_id != before);
	CHECK(kc->kc_chain == first);
	(void)ks_chain_changes(kc, &changes);
	CHECK(changes == 1);
	CHECK(kstat_lookup(kc, NULL, n, NULL) != NULL);
	s->first++;
	before = kc->kc_chain_id;
	CHECK(kstat_chain_update(kc) != 0 && kc->kc_chain_id != before);
	CHECK(kstat_lookup(kc, "even", 0, "n0") == NULL && errno == ENOENT);
	CHECK(ks_chain_length(kc) == (size_t)n);
	s->epoch++; /* all created anew: none is the same kstat any more */
	CHECK(kstat_chain_update(kc) != 0);
	(void)ks_chain_changes(kc, &changes);
	CHECK(changes == 2 * (size_t)n);
	CHECK(ks_chain_length(kc) == (size_t)n);
}

static void
sampling(kstat_ctl_t *kc)
{
	struct ks_sample *s = ks_sample_new(kc);
	const kstat_t *k;

	for (int twice = 0; twice < 2; twice++) {
		for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
			if (ks_sample_add(s, kc, ksp) == NULL)
				CHECK(!"it is added");
		}
	}
	CHECK(s->n == ks_chain_length(kc));
	k = ks_sample_lookup(s, "odd", 7, "n7");
	CHECK(k != NULL && KSTAT_NAMED_PTR(k)->value.ui64 == 7);
	CHECK(strcmp(KSTAT_NAMED_STR_PTR(KSTAT_NAMED_PTR(k) + 1), "some text") == 0);
	CHECK(ks_sample_lookup(s, "odd", 8, "n7") == NULL);
	ks_sample_free(s);
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	struct synthetic *s = calloc(1, sizeof(*s));
	kstat_ctl_t *kc;
	int wrong = 0;

	s->base.ops = &synthetic_ops;
	s->last = n;
	kc = ks_chain_open_source(&s->base, NULL);
	CHECK(kc != NULL);
	CHECK(ks_chain_length(kc) == (size_t)n);
	for (int i = 0; i < n; i++) {
		char name[32];
		kstat_t *ksp;

		(void)snprintf(name, sizeof(name), "n%d", i % 1000);
		ksp = kstat_lookup(kc, i % 2 ? "odd" : "even", i, name);
		wrong += ksp == NULL || ksp->ks_instance != i;
		wrong += kstat_lookup(kc, NULL, i, NULL) != ksp;
		wrong += ks_chain_find(kc, ksp->ks_kid) != ksp;
	}
	CHECK(wrong == 0);
	CHECK(kstat_lookup(kc, NULL, -1, "n5")->ks_instance == 5);
	CHECK(kstat_lookup(kc, "odd", -1, NULL)->ks_instance == 1);
	CHECK(kstat_lookup(kc, NULL, -1, NULL) == kc->kc_chain);
	CHECK(kstat_lookup(kc, "odd", 0, NULL) == NULL);
	reading(kc, kstat_lookup(kc, "odd", 3, NULL));
	updating(kc, s, n);
	sampling(kc);
	CHECK(kstat_close(kc) == 0);
	CHECK(kstat_close(NULL) == -1 && errno == EINVAL);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
