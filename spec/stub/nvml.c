/*
 * nvml.c - a stub of NVIDIA's libnvidia-ml.so.1 with two GPUs, for specs: $KSTAT_NVML names it. The file that $NVML_STUB
 * names says what goes wrong, one word and its argument in a line, and may change at any time:
 *
 *   hang FUNCTION    this function does not return, as long as the file says so
 *   lost N           GPU N has fallen off the bus; reset N: it has to be reset
 *   init CODE        nvmlInit returns this code
 *   xid N            GPU 1 had the XID error N since somebody asked last; each further line is a further error
 *   heat N           ns for which GPU 0 was too hot, power N: for which it was at its power limit
 *   uncorrected N    memory errors of GPU 0 since the driver was loaded, and corrected N
 *   pending N        1 if GPU 0 has a row of memory to replace; failed N: 1 if a row could not be replaced
 *   width N          lanes of PCIe of GPU 0
 *   ended N          how many of its two processes have ended
 *
 * With NVML_OLD defined it is the library of a driver from 2014: without functions that came later.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef unsigned long long ull;
typedef struct gpu *nvmlDevice_t;

static struct gpu {
	int number;
} gpus[2] = { { 0 }, { 1 } };

/* Finds the nth line (from 0) with that word, and its argument; NULL if there is none. */
static const char *
says(const char *word, int nth)
{
	static _Thread_local char argument[64];
	const char *path = getenv("NVML_STUB");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	char w[64];
	const char *found = NULL;

	while (f != NULL && found == NULL && fscanf(f, "%63s %63s", w, argument) == 2) {
		if (strcmp(w, word) == 0 && nth-- == 0)
			found = argument;
	}
	if (f != NULL)
		(void)fclose(f);
	return found;
}

static long long
number(const char *word, long long otherwise)
{
	const char *argument = says(word, 0);

	return argument != NULL ? atoll(argument) : otherwise;
}

/* What every function does first: hangs, or returns an error of the GPU. */
static int
begin(const char *function, nvmlDevice_t device)
{
	const char *hung;

	while ((hung = says("hang", 0)) != NULL && strcmp(hung, function) == 0)
		(void)usleep(5000);
	if (device != NULL && number("lost", -1) == device->number)
		return 15;
	return device != NULL && number("reset", -1) == device->number ? 16 : 0;
}

#define API(name, ...) int name(__VA_ARGS__); int name(__VA_ARGS__)
#define BEGIN(device) do { int rc_ = begin(__func__, device); if (rc_ != 0) return rc_; } while (0)
#define ONE(name, value) API(name, nvmlDevice_t d, unsigned *v) { BEGIN(d); *v = (value); return 0; }

API(nvmlInit, void)
{
	BEGIN(NULL);
	return (int)number("init", 0);
}
API(nvmlDeviceGetCount, unsigned *n)
{
	*n = 2;
	return 0;
}
API(nvmlDeviceGetHandleByIndex, unsigned i, nvmlDevice_t *d)
{
	if (i > 1)
		return 2;
	*d = &gpus[i];
	return 0;
}

const char *nvmlErrorString(int rc);
const char *
nvmlErrorString(int rc)
{
	return rc == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

API(nvmlSystemGetDriverVersion, char *to, unsigned size)
{
	(void)snprintf(to, size, "580.65.06");
	return 0;
}
API(nvmlDeviceGetName, nvmlDevice_t d, char *to, unsigned size)
{
	(void)snprintf(to, size, d->number == 0 ? "Stub H100 80GB HBM3" : "Stub A2");
	return 0;
}
API(nvmlDeviceGetUUID, nvmlDevice_t d, char *to, unsigned size)
{
	(void)snprintf(to, size, "GPU-00000000-0000-0000-0000-00000000000%d", d->number);
	return 0;
}

struct utilization {
	unsigned gpu, memory;
};
API(nvmlDeviceGetUtilizationRates, nvmlDevice_t d, struct utilization *u)
{
	BEGIN(d);
	*u = (struct utilization){ d->number == 0 ? 97 : 3, d->number == 0 ? 41 : 0 };
	return 0;
}

struct memory {
	ull total, free, used;
};
API(nvmlDeviceGetMemoryInfo, nvmlDevice_t d, struct memory *m)
{
	BEGIN(d);
	*m = (struct memory){ 85899345920, 21474836480, 64424509440 };
	return 0;
}

API(nvmlDeviceGetTemperature, nvmlDevice_t d, unsigned sensor, unsigned *v)
{
	BEGIN(d);
	*v = 64 - 20 * (unsigned)d->number;
	return sensor == 0 ? 0 : 2;
}
ONE(nvmlDeviceGetPowerUsage, d->number == 0 ? 699000 : 4000)
ONE(nvmlDeviceGetEnforcedPowerLimit, d->number == 0 ? 700000 : 60000)
ONE(nvmlDeviceGetPerformanceState, d->number == 0 ? 0 : 8)
ONE(nvmlDeviceGetCurrPcieLinkGeneration, d->number == 0 ? 5 : 1)
ONE(nvmlDeviceGetMaxPcieLinkGeneration, d->number == 0 ? 5 : 4)
ONE(nvmlDeviceGetCurrPcieLinkWidth, d->number == 0 ? (unsigned)number("width", 16) : 16)
ONE(nvmlDeviceGetMaxPcieLinkWidth, 16)

API(nvmlDeviceGetClockInfo, nvmlDevice_t d, unsigned type, unsigned *v)
{
	static const unsigned clocks[] = { 1410, 1411, 2619, 1275 };

	BEGIN(d);
	*v = clocks[type];
	return 0;
}
API(nvmlDeviceGetMaxClockInfo, nvmlDevice_t d, unsigned type, unsigned *v)
{
	static const unsigned clocks[] = { 1980, 1981, 2620, 1545 };

	BEGIN(d);
	*v = clocks[type];
	return 0;
}
API(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDevice_t d, ull *v)
{
	BEGIN(d);
	*v = d->number == 0 ? 0x4 | 0x20 : 0x1;
	return 0;
}
/* type: 0 corrected, 1 not; counter: 0 since the driver was loaded, 1 ever. The second GPU has no ECC. */
API(nvmlDeviceGetTotalEccErrors, nvmlDevice_t d, unsigned type, unsigned counter, ull *v)
{
	BEGIN(d);
	*v = counter == 1 ? 12 - type : (ull)(type == 0 ? number("corrected", 2) : number("uncorrected", 1));
	return d->number == 0 ? 0 : 3;
}

#ifndef NVML_OLD
API(nvmlInit_v2, void)
{
	BEGIN(NULL);
	return (int)number("init", 0);
}
API(nvmlDeviceGetCount_v2, unsigned *n)
{
	*n = 2;
	return 0;
}
API(nvmlDeviceGetHandleByIndex_v2, unsigned i, nvmlDevice_t *d)
{
	return nvmlDeviceGetHandleByIndex(i, d);
}

struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};
API(nvmlDeviceGetPciInfo_v3, nvmlDevice_t d, struct pci *p)
{
	memset(p, 0, sizeof(*p));
	(void)snprintf(p->bus_id, sizeof(p->bus_id), "00000000:%02X:00.0", 0x1b + d->number);
	return 0;
}

struct memory_v2 {
	unsigned version;
	ull total, reserved, free, used;
};
API(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t d, struct memory_v2 *m)
{
	BEGIN(d);
	if (m->version != (40 | 2 << 24))
		return 25;
	m->total = 85899345920;
	m->reserved = 629145600;
	m->used = 63795363840;
	m->free = m->total - m->reserved - m->used;
	return 0;
}
API(nvmlDeviceGetRemappedRows, nvmlDevice_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
    unsigned *failed)
{
	BEGIN(d);
	*corrected = 3;
	*uncorrected = 1;
	*pending = (unsigned)number("pending", 0);
	*failed = (unsigned)number("failed", 0);
	return d->number == 0 ? 0 : 3;
}
API(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t d, ull *v)
{
	BEGIN(d);
	*v = 123456789;
	return 0;
}

struct violation {
	ull reference, time;
};
API(nvmlDeviceGetViolationStatus, nvmlDevice_t d, unsigned policy, struct violation *v)
{
	BEGIN(d);
	*v = (struct violation){ 1784000000000000, 1000 * (policy + 1) };
	if (policy < 2 && d->number == 0)
		v->time = (ull)number(policy == 0 ? "power" : "heat", 1000 * (policy + 1));
	return 0;
}
API(nvmlDeviceGetPcieThroughput, nvmlDevice_t d, unsigned counter, unsigned *v)
{
	BEGIN(d);
	*v = counter == 0 ? 5000 : 7000;
	return 0;
}
ONE(nvmlDeviceGetPcieReplayCounter, 6)

/* Four links, of which one is down; the second GPU has none. */
API(nvmlDeviceGetNvLinkState, nvmlDevice_t d, unsigned link, unsigned *v)
{
	BEGIN(d);
	*v = link != 2;
	return d->number == 1 ? 3 : link < 4 ? 0 : 2;
}
API(nvmlDeviceGetNvLinkErrorCounter, nvmlDevice_t d, unsigned link, unsigned counter, ull *v)
{
	BEGIN(d);
	*v = counter + 1;
	return d->number == 1 ? 3 : link < 4 ? 0 : 2;
}

struct field_value {
	unsigned id, scope;
	long long timestamp, latency;
	unsigned type;
	int rc;
	ull value;
};
API(nvmlDeviceGetFieldValues, nvmlDevice_t d, int n, struct field_value *v)
{
	BEGIN(d);
	for (int i = 0; i < n; i++) {
		v[i].rc = d->number == 1 ? 3 : v[i].scope == ~0u ? 0 : 2;
		v[i].type = 3;
		v[i].value = v[i].id == 138 ? 111 : 222;
	}
	return 0;
}

struct event {
	nvmlDevice_t device;
	ull type, data;
	unsigned gpu_instance, compute_instance;
};
static int told; /* XID errors that were taken from the set of the second GPU */

API(nvmlEventSetCreate, void **set)
{
	*set = calloc(1, sizeof(int));
	return *set != NULL ? 0 : 20;
}
API(nvmlDeviceRegisterEvents, nvmlDevice_t d, ull types, void *set)
{
	*(int *)set = d->number;
	return types == 8 ? 0 : 2;
}
API(nvmlEventSetWait_v2, void *set, struct event *e, unsigned ms)
{
	static int asked; /* times for the second GPU */
	const char *xid = *(int *)set == 1 && asked++ > 0 ? says("xid", told) : NULL;

	BEGIN(&gpus[*(int *)set]);
	if (xid == NULL || ms != 0)
		return 10;
	told++;
	*e = (struct event){ &gpus[1], 8, strtoull(xid, NULL, 10), ~0u, ~0u };
	return 0;
}

struct process {
	unsigned pid;
	ull memory;
	unsigned gpu_instance, compute_instance;
};
API(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t d, unsigned *n, struct process *p)
{
	BEGIN(d);
	if (*n < 2)
		return 7;
	*n = d->number == 0 ? 2 - (unsigned)number("ended", 0) : 0;
	p[0] = (struct process){ 4711, 1073741824, ~0u, ~0u };
	p[1] = (struct process){ 4712, ~0ULL, ~0u, ~0u };
	return 0;
}

struct sample {
	unsigned pid;
	ull timestamp;
	unsigned sm, memory, encoder, decoder;
};
API(nvmlDeviceGetProcessUtilization, nvmlDevice_t d, struct sample *s, unsigned *n, ull since)
{
	BEGIN(d);
	if (since < 1700000000000000)
		return 2;
	*n = d->number == 0 ? 1 : 0;
	s[0] = (struct sample){ 4711, since + 1, 88, 40, 0, 5 };
	return *n > 0 ? 0 : 6;
}
#else
struct process_v1 {
	unsigned pid;
	ull memory;
};
API(nvmlDeviceGetComputeRunningProcesses, nvmlDevice_t d, unsigned *n, struct process_v1 *p)
{
	BEGIN(d);
	*n = 2;
	p[0] = (struct process_v1){ 4711, 1073741824 };
	p[1] = (struct process_v1){ 4713, 4096 };
	return 0;
}
#endif
