/* nvml.c - see nvml.h. SPDX-License-Identifier: MIT */
#include "source/linux/hardware/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MOST_LINKS 18  /* NVLINK_MAX_LINKS */
#define MOST_EVENTS 64 /* that one reading takes from a set */
#define XID_EVENT 8    /* nvmlEventTypeXidCriticalError */

/* nvmlReturn_t, as far as it matters which error it is. */
enum { OK = 0, NOT_SUPPORTED = 3, IS_LOST = 15, RESET_REQUIRED = 16 };

/* The structures of the library, by its own names for their members. */
struct memory { /* nvmlMemory_t */
	unsigned long long total, free, used;
};
struct memory_v2 { /* nvmlMemory_v2_t */
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct violation { /* nvmlViolationTime_t */
	unsigned long long reference_time, violation_time;
};
struct field_value { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long timestamp, latency;
	unsigned type; /* 0: double, 1: unsigned, 2: unsigned long, 3: unsigned long long */
	int rc;
	union {
		unsigned u;
		unsigned long long w;
	} value;
};
struct event { /* nvmlEventData_t; versions before the second end behind data */
	void *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};
struct pci { /* nvmlPciInfo_t */
	char legacy_bus[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};
struct process_v1 { /* nvmlProcessInfo_v1_t; the second version has two more numbers */
	unsigned pid;
	unsigned long long memory;
};
struct process_v2 {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};
struct sample { /* nvmlProcessUtilizationSample_t */
	unsigned pid;
	unsigned long long timestamp;
	unsigned sm, memory, encoder, decoder;
};

struct gpu {
	struct ks_nvml_gpu facts;
	void *device; /* nvmlDevice_t; NULL with the reason in rc */
	int rc;
	uint64_t kept[KS_NVML_KEPT];
	bool is_kept[KS_NVML_KEPT];
	void *events; /* nvmlEventSet_t */
	uint64_t xids, last_xid;
};

static struct {
	void *library;
	pid_t pid; /* for which it was started: a child of fork() starts it again */
	unsigned n;
	char driver[80];
	hrtime_t watched;
	struct gpu gpu[KS_NVML_MOST];
} nvml;

static const char *
library_name(void)
{
	const char *name = secure_getenv("KSTAT_NVML");

	return name != NULL && *name != '\0' ? name : "libnvidia-ml.so.1";
}

bool
ks_nvml_is_replaced(void)
{
	const char *name = secure_getenv("KSTAT_NVML");

	return name != NULL && *name != '\0';
}

/* A function of the library, or an older form of it with the same parameters (NULL: there is none); NULL if neither. */
static void *
function(const char *name, const char *older)
{
	void *f = dlsym(nvml.library, name);

	return f != NULL || older == NULL ? f : dlsym(nvml.library, older);
}

const struct ks_nvml_gpu *
ks_nvml_gpu(unsigned gpu)
{
	return &nvml.gpu[gpu].facts;
}

const char *
ks_nvml_driver(void)
{
	return nvml.driver;
}

/* --- starting ---------------------------------------------------------------------------------- */

static void
describe_error(char why[200], const char *what, int rc)
{
	const char *(*text)(int) = (const char *(*)(int))function("nvmlErrorString", NULL);

	if (text != NULL)
		(void)snprintf(why, 200, "%s: %s", what, text(rc));
	else
		(void)snprintf(why, 200, "%s: error %d", what, rc);
}

/* Asks for a text of a GPU; leaves an empty one if the library does not have it. */
static void
ask_text(const char *name, void *device, char *to, unsigned size)
{
	int (*f)(void *, char *, unsigned) = (int (*)(void *, char *, unsigned))function(name, NULL);

	if (f == NULL || f(device, to, size) != OK)
		to[0] = '\0';
	to[size - 1] = '\0';
}

static void
ask_bus(struct gpu *g)
{
	int (*f)(void *, struct pci *) = (int (*)(void *, struct pci *))function("nvmlDeviceGetPciInfo_v3", NULL);
	struct pci pci = { .bus_id = "" };

	if (f != NULL && f(g->device, &pci) == OK)
		(void)snprintf(g->facts.bus, sizeof(g->facts.bus), "%.31s", pci.bus_id);
}

static void
find_gpu(unsigned i)
{
	int (*f)(unsigned, void **) =
	    (int (*)(unsigned, void **))function("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
	struct gpu *g = &nvml.gpu[i];

	*g = (struct gpu){ .rc = NOT_SUPPORTED };
	if (f != NULL)
		g->rc = f(i, &g->device);
	if (g->rc != OK) {
		g->device = NULL;
		return;
	}
	ask_text("nvmlDeviceGetName", g->device, g->facts.name, sizeof(g->facts.name));
	ask_text("nvmlDeviceGetUUID", g->device, g->facts.uuid, sizeof(g->facts.uuid));
	ask_bus(g);
}

/* Loads the library and finds the GPUs. Returns false with the reason. */
static bool
start(char why[200])
{
	int (*begin)(void), (*count)(unsigned *), (*version)(char *, unsigned);
	unsigned n = 0;
	int rc;

	if (nvml.library == NULL)
		nvml.library = dlopen(library_name(), RTLD_LAZY | RTLD_LOCAL);
	if (nvml.library == NULL) {
		const char *text = dlerror();

		(void)snprintf(why, 200, "%.180s", text != NULL ? text : "it cannot be loaded");
		return false;
	}
	begin = (int (*)(void))function("nvmlInit_v2", "nvmlInit");
	count = (int (*)(unsigned *))function("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
	version = (int (*)(char *, unsigned))function("nvmlSystemGetDriverVersion", NULL);
	if (begin == NULL || count == NULL) {
		(void)snprintf(why, 200, "%s has no %s", library_name(), begin == NULL ? "nvmlInit" : "nvmlDeviceGetCount");
		return false;
	}
	rc = begin();
	if (rc == OK)
		rc = count(&n);
	if (rc != OK) {
		describe_error(why, library_name(), rc);
		return false;
	}
	if (version == NULL || version(nvml.driver, sizeof(nvml.driver)) != OK)
		nvml.driver[0] = '\0';
	nvml.n = n < KS_NVML_MOST ? n : KS_NVML_MOST;
	for (unsigned i = 0; i < nvml.n; i++)
		find_gpu(i);
	return true;
}

/* Has the library note XID errors of all GPUs. */
static void
watch(void)
{
	int (*create)(void **) = (int (*)(void **))function("nvmlEventSetCreate", NULL);
	int (*add)(void *, unsigned long long, void *) =
	    (int (*)(void *, unsigned long long, void *))function("nvmlDeviceRegisterEvents", NULL);

	nvml.watched = gethrtime();
	for (struct gpu *g = nvml.gpu; g < nvml.gpu + nvml.n; g++)
		g->facts.is_watched = create != NULL && add != NULL && g->device != NULL && create(&g->events) == OK &&
		    add(g->device, XID_EVENT, g->events) == OK;
}

void
ks_nvml_start(struct ks_nvml_start *s)
{
	if (nvml.pid != getpid()) {
		if (!start(s->why))
			return;
		nvml.watched = 0;
		nvml.pid = getpid();
	}
	if (s->watch && nvml.watched == 0)
		watch();
	s->watched = nvml.watched;
	s->n = nvml.n;
}

/* --- reading ----------------------------------------------------------------------------------- */

/* Adds up what a function says of each link. Returns as the function does for the first one. */
static int
over_links(void *f, const struct ks_nvml_call *c, void *device, uint64_t *sum)
{
	int first = OK;

	*sum = 0;
	for (unsigned link = 0; link < MOST_LINKS; link++) {
		unsigned long long wide = 0;
		unsigned one = 0;
		int rc = c->form == KS_NVML_LINKS ? ((int (*)(void *, unsigned, unsigned *))f)(device, link, &one) :
		    ((int (*)(void *, unsigned, unsigned, unsigned long long *))f)(device, link, c->a, &wide);

		if (link == 0)
			first = rc;
		if (rc == OK)
			*sum += one + wide;
	}
	return first;
}

/* Counts the XID errors that the library noted since the last call. */
static int
count_xids(void *f, struct gpu *g, uint64_t v[])
{
	struct event e = { .device = NULL };

	if (!g->facts.is_watched)
		return NOT_SUPPORTED;
	for (int i = 0; i < MOST_EVENTS && ((int (*)(void *, struct event *, unsigned))f)(g->events, &e, 0) == OK; i++) {
		g->xids++;
		g->last_xid = e.data;
	}
	v[0] = g->xids;
	v[1] = g->xids > 0 ? g->last_xid : UINT64_MAX;
	return OK;
}

static int
ask_memory(void *f, void *device, bool is_v2, uint64_t v[])
{
	struct memory_v2 m2 = { .version = (unsigned)sizeof(m2) | 2u << 24 };
	struct memory m = { .total = 0 };
	int rc = is_v2 ? ((int (*)(void *, struct memory_v2 *))f)(device, &m2) :
	    ((int (*)(void *, struct memory *))f)(device, &m);

	v[0] = is_v2 ? m2.total : m.total;
	v[1] = is_v2 ? m2.used : m.used;
	v[2] = is_v2 ? m2.reserved : UINT64_MAX;
	return rc;
}

static int
ask_field(void *f, void *device, unsigned id, uint64_t *v)
{
	struct field_value value = { .id = id, .scope = UINT_MAX };
	int rc = ((int (*)(void *, int, struct field_value *))f)(device, 1, &value);

	*v = value.type == 1 ? value.value.u : value.value.w;
	return rc != OK ? rc : value.type >= 1 && value.type <= 3 ? value.rc : NOT_SUPPORTED;
}

/* Calls a function. Sets its values; UINT64_MAX: not known. Returns what it does. */
static int
call(const struct ks_nvml_call *c, void *f, struct gpu *g, uint64_t v[4])
{
	struct violation violation = { .violation_time = 0 };
	unsigned long long wide = 0;
	unsigned u[4] = { 0, 0, 0, 0 };
	size_t n = 1;
	int rc;

	switch (c->form) {
	case KS_NVML_ONE:
		rc = ((int (*)(void *, unsigned *))f)(g->device, u);
		break;
	case KS_NVML_OF:
		rc = ((int (*)(void *, unsigned, unsigned *))f)(g->device, c->a, u);
		break;
	case KS_NVML_PAIR:
		rc = ((int (*)(void *, unsigned *))f)(g->device, u);
		n = 2;
		break;
	case KS_NVML_FOUR:
		rc = ((int (*)(void *, unsigned *, unsigned *, unsigned *, unsigned *))f)(g->device, &u[0], &u[1], &u[2],
		    &u[3]);
		n = 4;
		break;
	case KS_NVML_WIDE:
		rc = ((int (*)(void *, unsigned long long *))f)(g->device, &wide);
		v[0] = wide;
		return rc;
	case KS_NVML_WIDE_OF:
		rc = ((int (*)(void *, unsigned, unsigned, unsigned long long *))f)(g->device, c->a, c->b, &wide);
		v[0] = wide;
		return rc;
	case KS_NVML_VIOLATION:
		rc = ((int (*)(void *, unsigned, struct violation *))f)(g->device, c->a, &violation);
		v[0] = violation.violation_time;
		return rc;
	case KS_NVML_MEMORY:
	case KS_NVML_MEMORY_V2:
		return ask_memory(f, g->device, c->form == KS_NVML_MEMORY_V2, v);
	case KS_NVML_FIELD:
		return ask_field(f, g->device, c->a, v);
	case KS_NVML_LINKS:
	case KS_NVML_LINKS_OF:
		return over_links(f, c, g->device, v);
	default:
		return count_xids(f, g, v);
	}
	for (size_t i = 0; i < n; i++)
		v[i] = u[i] != UINT_MAX ? u[i] : UINT64_MAX;
	return rc;
}

/* An errno for an error that concerns the whole GPU; 0 for others, which concern one value. */
static int
trouble_of(int rc)
{
	return rc == IS_LOST ? ENODEV : rc == RESET_REQUIRED ? ENOTRECOVERABLE : 0;
}

int
ks_nvml_read(unsigned gpu, const struct ks_nvml_call *calls, struct ks_values *vals)
{
	struct gpu *g = &nvml.gpu[gpu];

	if (g->device == NULL)
		return trouble_of(g->rc) != 0 ? trouble_of(g->rc) : EACCES;
	for (const struct ks_nvml_call *c = calls; c->function != NULL; c++) {
		uint64_t v[4] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
		bool is_kept = c->keep != 0 && g->is_kept[c->keep - 1];
		void *f = is_kept || (vals->have >> c->field & 1) != 0 ? NULL : function(c->function, NULL);
		int rc = f != NULL ? call(c, f, g, v) : NOT_SUPPORTED;

		if (trouble_of(rc) != 0)
			return trouble_of(rc);
		if (is_kept)
			v[0] = g->kept[c->keep - 1];
		if (rc == OK && c->keep != 0) {
			g->kept[c->keep - 1] = v[0];
			g->is_kept[c->keep - 1] = true;
		}
		for (size_t i = 0; (rc == OK || is_kept) && i < 4; i++) {
			if (v[i] != UINT64_MAX)
				ks_have(vals, c->field + i, v[i]);
		}
	}
	return 0;
}

/* --- processes --------------------------------------------------------------------------------- */

/* The row of a process, a new one if there is none; NULL if there are too many. */
static struct ks_nvml_process *
row_of(struct ks_nvml_processes *list, unsigned pid)
{
	unsigned i = 0;

	while (i < list->n && list->v[i].pid != pid)
		i++;
	if (i == KS_NVML_PROCESSES)
		return NULL;
	if (i == list->n)
		list->v[list->n++] = (struct ks_nvml_process){ pid, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
			UINT64_MAX };
	return &list->v[i];
}

/* Adds the processes of one kind; older versions of the function have shorter structures. Returns an nvmlReturn_t. */
static int
add_running(struct ks_nvml_processes *list, const char *newest, const char *newer, const char *oldest)
{
	union {
		struct process_v1 v1[KS_NVML_PROCESSES];
		struct process_v2 v2[KS_NVML_PROCESSES];
	} *found = malloc(sizeof(*found));
	void *f = function(newest, newer);
	bool is_v1 = f == NULL;
	unsigned n = KS_NVML_PROCESSES;
	int rc = NOT_SUPPORTED;

	f = is_v1 ? function(oldest, NULL) : f;
	if (found != NULL && f != NULL)
		rc = ((int (*)(void *, unsigned *, void *))f)(nvml.gpu[list->gpu].device, &n, found);
	for (unsigned i = 0; rc == OK && i < n && i < KS_NVML_PROCESSES; i++) {
		struct ks_nvml_process *p = row_of(list, is_v1 ? found->v1[i].pid : found->v2[i].pid);

		if (p != NULL)
			p->memory = is_v1 ? found->v1[i].memory : found->v2[i].memory;
	}
	free(found);
	return rc;
}

/* Adds how busy processes kept the GPU in the last second. */
static void
add_utilization(struct ks_nvml_processes *list)
{
	int (*f)(void *, struct sample *, unsigned *, unsigned long long) = (int (*)(void *, struct sample *, unsigned *,
	    unsigned long long))function("nvmlDeviceGetProcessUtilization", NULL);
	struct sample *found = malloc(KS_NVML_PROCESSES * sizeof(*found));
	unsigned n = KS_NVML_PROCESSES;
	struct timespec now;
	int rc = NOT_SUPPORTED;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (found != NULL && f != NULL)
		rc = f(nvml.gpu[list->gpu].device, found, &n, (unsigned long long)(now.tv_sec - 1) * 1000000);
	for (unsigned i = 0; rc == OK && i < n && i < KS_NVML_PROCESSES; i++) {
		struct ks_nvml_process *p = row_of(list, found[i].pid);

		if (p == NULL)
			continue;
		p->sm_util = found[i].sm;
		p->memory_util = found[i].memory;
		p->encoder_util = found[i].encoder;
		p->decoder_util = found[i].decoder;
	}
	free(found);
}

int
ks_nvml_list(struct ks_nvml_processes *list)
{
	const struct gpu *g = &nvml.gpu[list->gpu];
	int rc;

	list->n = 0;
	if (g->device == NULL)
		return trouble_of(g->rc) != 0 ? trouble_of(g->rc) : EACCES;
	rc = add_running(list, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
	    "nvmlDeviceGetComputeRunningProcesses");
	if (trouble_of(rc) != 0)
		return trouble_of(rc);
	(void)add_running(list, "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
	    "nvmlDeviceGetGraphicsRunningProcesses");
	add_utilization(list);
	return 0;
}
