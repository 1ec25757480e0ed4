/* meta.c - see meta.h. SPDX-License-Identifier: MIT */
#include "model/meta.h"

#include <stdbool.h>
#include <string.h>

#include "model/blobstat.h"
#include "model/raw_meta.h"

static const struct ks_meta header_meta[] = {
	KS_META_TEXT("class", "broad class of the kstat"),
	KS_META_NSEC("crtime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the kstat was created"),
	KS_META_NSEC("snaptime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the data was taken"),
	KS_META_END
};

static const struct ks_meta intr_meta[] = {
	KS_META_COUNTER("hard", "interrupts from the device"),
	KS_META_COUNTER("soft", "interrupts caused by software"),
	KS_META_COUNTER("watchdog", "interrupts from a periodic timer"),
	KS_META_COUNTER("spurious", "interrupts with nothing to service"),
	KS_META_COUNTER("multiple_service", "interrupts found while returning from another"),
	KS_META_END
};

static const struct ks_meta io_meta[] = {
	KS_META_BYTES("nread", KS_KIND_COUNTER, "bytes read"),
	KS_META_BYTES("nwritten", KS_KIND_COUNTER, "bytes written"),
	KS_META_COUNTER("reads", "read operations"),
	KS_META_COUNTER("writes", "write operations"),
	KS_META_NSEC("wtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests waiting"),
	KS_META_NSEC("wlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "wait queue length times time"),
	KS_META_NSEC("wlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the wait queue"),
	KS_META_NSEC("rtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests in service"),
	KS_META_NSEC("rlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "run queue length times time"),
	KS_META_NSEC("rlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the run queue"),
	KS_META_GAUGE("wcnt", "requests waiting"),
	KS_META_GAUGE("rcnt", "requests in service"),
	KS_META_END
};

static const struct ks_meta timer_meta[] = {
	KS_META_TEXT("name", "name of the event"),
	KS_META_COUNTER("num_events", "events timed"),
	KS_META_NSEC("elapsed_time", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time of all events together"),
	KS_META_NSEC("min_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "shortest event"),
	KS_META_NSEC("max_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "longest event"),
	KS_META_NSEC("start_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event started"),
	KS_META_NSEC("stop_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event stopped"),
	KS_META_END
};

static const struct ks_meta histogram_meta[] = {
	KS_META_COUNTER("buckets", "values in each bucket"),
	KS_META_TEXT("type", "how the buckets are laid out"),
	KS_META("range_min", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, "", "where the first bucket ends"),
	KS_META("range_max", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, "", "where the last bucket starts"),
	KS_META_GAUGE("stepping", "width of a bucket, or their number in a power of ten"),
	KS_META_END
};

const struct ks_meta ks_meta_not_counted = KS_META_OF("", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN,
    KSTAT2_NVMF_NOT_COUNTED, 1, "", "a statistic of illumos that Linux does not count");

/* Returns whether it is a NAMED kstat that starts with an array of buckets. */
static bool
is_histogram(const kstat_t *ksp)
{
	const kstat_named_t *kn = ksp->ks_data;

	return ksp->ks_type == KSTAT_TYPE_NAMED && kn != NULL && ksp->ks_ndata == 5 &&
	    kn->data_type == KSTAT_DATA_INTS && strcmp(kn->name, "buckets") == 0;
}

const struct ks_meta *
ks_meta_find(const struct ks_meta *table, const char *stat)
{
	for (; table->stat != NULL; table++) {
		if (strcmp(table->stat, stat) == 0)
			return table;
	}
	return NULL;
}

static const struct ks_meta *
meta_of_raw(const kstat_t *ksp, const char *stat)
{
	const struct ks_raw_layout *layout;

	if (ks_blobstat_is(ksp))
		return ks_blobstat_meta(ksp, stat);
	layout = ks_raw_layout_find(ksp->ks_module, ksp->ks_name);

	return layout != NULL ? ks_raw_meta(layout, stat) : NULL;
}

const struct ks_meta *
ks_meta_of_model(const kstat_t *ksp, const char *stat)
{
	const struct ks_meta *m = NULL;

	if (ksp->ks_type == KSTAT_TYPE_INTR)
		m = ks_meta_find(intr_meta, stat);
	else if (ksp->ks_type == KSTAT_TYPE_IO)
		m = ks_meta_find(io_meta, stat);
	else if (ksp->ks_type == KSTAT_TYPE_TIMER)
		m = ks_meta_find(timer_meta, stat);
	else if (is_histogram(ksp))
		m = ks_meta_find(histogram_meta, stat);
	else if (ksp->ks_type == KSTAT_TYPE_RAW)
		m = meta_of_raw(ksp, stat);
	return m != NULL ? m : ks_meta_find(header_meta, stat);
}

const char *
ks_kind_name(uint8_t kind)
{
	static const char *const names[] = { "counter", "gauge", "text", "time" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}
