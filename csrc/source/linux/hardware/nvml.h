/*
 * nvml.h - NVIDIA's management library, libnvidia-ml.so.1, which comes with the driver. It is loaded while the program
 * runs, so that building needs neither the library nor its header; what is known of it here is the part of its
 * interface that has stayed the same since its first versions. A function that the library does not have is as one that
 * the GPU does not support: its values are missing.
 *
 * The library is started once in a process and never stopped. Starting it takes 12 ms, and its functions 1 us to 20 ms;
 * each of them may hang with the driver. So ks_nvml_start(), ks_nvml_read() and ks_nvml_list() are for the threads of
 * ask.h: no two at a time may start the library, or make the same calls for the same GPU.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NVML_H
#define SOURCE_LINUX_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "source/linux/field.h"

#define KS_NVML_MOST 64        /* GPUs */
#define KS_NVML_PROCESSES 512  /* of a GPU */

/* The parameters of a function behind the GPU, and the values that it returns. */
enum ks_nvml_form {
	KS_NVML_ONE,       /* (unsigned *) */
	KS_NVML_OF,        /* (a, unsigned *) */
	KS_NVML_PAIR,      /* (unsigned[2]): two values */
	KS_NVML_FOUR,      /* (unsigned *, unsigned *, unsigned *, unsigned *): four values */
	KS_NVML_WIDE,      /* (unsigned long long *) */
	KS_NVML_WIDE_OF,   /* (a, b, unsigned long long *) */
	KS_NVML_VIOLATION, /* (a, nvmlViolationTime_t *): the time of a policy's violation */
	KS_NVML_MEMORY,    /* (nvmlMemory_t *): total and used, the reserved part of it included */
	KS_NVML_MEMORY_V2, /* (nvmlMemory_v2_t *): total, used, reserved */
	KS_NVML_FIELD,     /* (1, nvmlFieldValue_t *): the field a, of all links */
	KS_NVML_LINKS,     /* (link, unsigned *): of how many links this is 1 */
	KS_NVML_LINKS_OF,  /* (link, a, unsigned long long *): the sum over all links */
	KS_NVML_XID        /* (nvmlEventData_t *, ms) of a set of events: how many XID errors there were, and the last */
};

struct ks_nvml_call {
	const char *function; /* NULL ends a table */
	uint8_t form;         /* enum ks_nvml_form */
	uint8_t field;        /* where its values go; it is not called if there is a value already */
	uint8_t a, b;         /* parameters */
	uint8_t keep;         /* not 0: the value never changes, and is kept under this number, up to KS_NVML_KEPT */
};

#define KS_NVML_KEPT 6

/* What is known of a GPU since the start. */
struct ks_nvml_gpu {
	char name[96], uuid[96], bus[32]; /* empty: not known */
	bool is_watched;                  /* its XID errors are counted */
};

/* What ks_nvml_start() says. */
struct ks_nvml_start {
	bool watch;       /* in: count XID errors from now on, unless they are counted already */
	hrtime_t watched; /* since when they are counted */
	unsigned n;       /* GPUs; they have numbers from 0 */
	char why[200];    /* why there are none; empty: the library works */
};

/* A process that uses a GPU; UINT64_MAX: not known. */
struct ks_nvml_process {
	unsigned pid;
	uint64_t memory, sm_util, memory_util, encoder_util, decoder_util;
};

struct ks_nvml_processes {
	unsigned gpu; /* in */
	unsigned n;
	struct ks_nvml_process v[KS_NVML_PROCESSES];
};

/* Loads and starts the library unless it runs. */
void ks_nvml_start(struct ks_nvml_start *s);

/*
 * Makes the calls of a table for a GPU. Returns 0, also if some values are not known; ENODEV: the GPU is lost;
 * ENOTRECOVERABLE: it has to be reset; EACCES: this user may not see it.
 */
int ks_nvml_read(unsigned gpu, const struct ks_nvml_call *calls, struct ks_values *vals);

/* Lists the processes that use a GPU. Returns as ks_nvml_read() does. */
int ks_nvml_list(struct ks_nvml_processes *list);

/* A GPU, after the library was started, and the version of the driver. What they return never changes. */
const struct ks_nvml_gpu *ks_nvml_gpu(unsigned gpu);
const char *ks_nvml_driver(void);

/* True if the program was told by $KSTAT_NVML which library to load, in place of the driver's. */
bool ks_nvml_is_replaced(void);

#endif
