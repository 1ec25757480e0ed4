/* meta.c - see meta.h. SPDX-License-Identifier: MIT */
#include "model/meta.h"

#include <stdbool.h>
#include <string.h>

#include "model/blobstat.h"
#include "model/raw_meta.h"

#define COUNTER(stat, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, "", desc }
#define GAUGE(stat, desc) { stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, 0, 1, "", desc }
#define BYTES(stat, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, 0, 1, "bytes", desc }
/* Times in nanoseconds: scale says how many make a second. */
#define NSEC(stat, kind, type, desc) \
	{ stat, kind, type, KSTAT2_NVMF_FRACT, 1000000000, "ns", desc }
#define TEXT(stat, desc) { stat, KS_KIND_TEXT, KSTAT2_NVMT_ID, 0, 1, "", desc }
#define END { NULL, 0, 0, 0, 0, NULL, NULL }

static const struct ks_meta header_meta[] = {
	TEXT("class", "broad class of the kstat"),
	NSEC("crtime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the kstat was created"),
	NSEC("snaptime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the data was taken"),
	END
};

static const struct ks_meta intr_meta[] = {
	COUNTER("hard", "interrupts from the device"),
	COUNTER("soft", "interrupts caused by software"),
	COUNTER("watchdog", "interrupts from a periodic timer"),
	COUNTER("spurious", "interrupts with nothing to service"),
	COUNTER("multiple_service", "interrupts found while returning from another"),
	END
};

static const struct ks_meta io_meta[] = {
	BYTES("nread", "bytes read"),
	BYTES("nwritten", "bytes written"),
	COUNTER("reads", "read operations"),
	COUNTER("writes", "write operations"),
	NSEC("wtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests waiting"),
	NSEC("wlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "wait queue length times time"),
	NSEC("wlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the wait queue"),
	NSEC("rtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests in service"),
	NSEC("rlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "run queue length times time"),
	NSEC("rlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the run queue"),
	GAUGE("wcnt", "requests waiting"),
	GAUGE("rcnt", "requests in service"),
	END
};

static const struct ks_meta timer_meta[] = {
	TEXT("name", "name of the event"),
	COUNTER("num_events", "events timed"),
	NSEC("elapsed_time", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time of all events together"),
	NSEC("min_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "shortest event"),
	NSEC("max_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "longest event"),
	NSEC("start_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event started"),
	NSEC("stop_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event stopped"),
	END
};

static const struct ks_meta histogram_meta[] = {
	{ "buckets", KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, "", "values in each bucket" },
	TEXT("type", "how the buckets are laid out"),
	{ "range_min", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, 0, 1, "", "where the first bucket ends" },
	{ "range_max", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, 0, 1, "", "where the last bucket starts" },
	{ "stepping", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, 0, 1, "", "width of a bucket, or their number in a "
	    "power of ten" },
	END
};

/* A NAMED kstat that starts with an array of buckets. */
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
