/*
 * open.c - opening and closing chains: the machine, other roots, a capture, one source alone.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "base/when.h"
#include "chain/handle.h"
#include "chain/rivals.h"
#include "model/origin.h"
#include "provider/provider.h"
#include "select/selector.h"
#include "source/replay/replay.h"
#include "source/sources.h"

int
kstat_close(kstat_ctl_t *kc)
{
	struct ks_chain *chain = ks_chain_of(kc);

	if (kc == NULL)
		return ks_fail(EINVAL, "kstat_close: no handle");
	for (size_t i = 0; i < chain->nsources; i++)
		chain->source[i]->ops->close(chain->source[i]);
	if (kc->kc_kd >= 0)
		(void)close(kc->kc_kd);
	ks_nodes_free(&chain->nodes);
	ks_record_free(&chain->record);
	ks_buf_free(&chain->md_texts);
	ks_warnings_free(&chain->warnings);
	free(chain->change);
	free(chain->sorted.ksp);
	free(chain);
	return 0;
}

/* Closes a chain that could not be opened fully, keeping errno. */
static kstat_ctl_t *
abandon(struct ks_chain *chain)
{
	int error = errno;

	(void)kstat_close(&chain->kc);
	errno = error;
	return NULL;
}

/* Adds a source if there is one; false if opening it failed. */
static bool
add_source(struct ks_chain *chain, struct ks_source *src)
{
	if (src != NULL)
		chain->source[chain->nsources++] = src;
	return src != NULL;
}

/*
 * Gives a chain what programs that know libkstat from illumos expect of it: the descriptor of /dev/kstat, which
 * stands for nothing here but can be passed to fcntl(), and unix:0:kstat_headers with the ID 0. False with errno.
 */
static bool
suit_program(struct ks_chain *chain)
{
	chain->plain = true;
	chain->nodes.next_kid = 0;
	chain->kc.kc_kd = open("/", O_PATH | O_CLOEXEC);
	if (chain->kc.kc_kd < 0) {
		(void)ks_fail(errno, "no descriptor for a kstat handle: %s", strerror(errno));
		return false;
	}
	return add_source(chain, ks_source_headers_open(chain));
}

static struct ks_chain *
new_chain(const struct ks_only *only)
{
	struct ks_chain *chain = calloc(1, sizeof(*chain));

	if (chain == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a kstat handle");
	if (only != NULL)
		chain->only = *only;
	chain->kc.kc_kd = -1;
	chain->kc.kc_chain_id = 1;
	chain->updated.at = gethrtime();
	chain->updated.time_of_day = ks_time_of_day();
	ks_nodes_init(&chain->nodes);
	if (chain->only.for_program && !suit_program(chain)) {
		abandon(chain);
		return NULL;
	}
	return chain;
}

/* True if such a chain holds the machine's kstats alone. */
static bool
is_machine_only(const struct ks_only *only)
{
	bool is_bound = !only->plain && only->n > 0;

	for (size_t i = 0; is_bound && i < only->n; i++)
		is_bound = only->selector[i]->is_of_machine;
	for (size_t i = 0; is_bound && i < only->nalso; i++)
		is_bound = only->also[i]->is_of_machine;
	return only->machine || is_bound;
}

/* True if a selector may mean what root publishes as the machine's. */
static bool
wants_reserved(const struct ks_selector *s)
{
	bool module = false, class_ = s->module.kind == KS_PATTERN_LITERAL;

	for (size_t i = 0; !module && ks_reserved_module[i] != NULL; i++)
		module = ks_pattern_matches(&s->module, ks_reserved_module[i]);
	for (size_t i = 0; module && !class_ && ks_reserved_class[i] != NULL; i++)
		class_ = ks_pattern_matches(&s->class_, ks_reserved_class[i]);
	return module && class_;
}

static bool
needs_reserved(const struct ks_only *only)
{
	bool needs = only->n == 0;

	for (size_t i = 0; !needs && i < only->n; i++)
		needs = wants_reserved(only->selector[i]);
	return needs;
}

static kstat_ctl_t *
first_scan(struct ks_chain *chain)
{
	if (ks_chain_scan(chain) < 0)
		return abandon(chain);
	/* Nobody asks what the first scan added, and that is everything. */
	free(chain->change);
	chain->change = NULL;
	chain->nchanges = chain->change_cap = 0;
	return &chain->kc;
}

/* A variable of the environment; NULL: it is not set, or empty. */
static const char *
variable(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* The directory that the recorder of the machine writes. */
static const char *
recordings(void)
{
	const char *directory = variable("KSTAT_RECORDINGS");

	return directory != NULL ? directory : "/var/log/kstat";
}

/* The past that the environment names in place of the machine; NULL without errno: it names none. */
static kstat_ctl_t *
open_named(const struct ks_only *only)
{
	static const char *const names[] = { "KSTAT_SOURCE", "KSTAT_AT", "KSTAT_FROM", "KSTAT_TO", "KSTAT_HOST" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (variable(names[i]) != NULL)
			return ks_chain_open_replay(&(struct ks_past){ .paths = NULL }, only);
	}
	errno = 0;
	return NULL;
}

kstat_ctl_t *
ks_chain_open(const struct ks_only *only)
{
	kstat_ctl_t *kc = open_named(only);
	struct ks_chain *chain;

	if (kc != NULL || errno != 0)
		return kc;
	chain = new_chain(only);
	if (chain == NULL)
		return NULL;
	/* A chain of what is published asks the machine for its modules alone: it can do without. */
	if (!add_source(chain, ks_machine_open()) && !chain->only.published)
		return abandon(chain);
	if (!chain->only.published && !chain->only.machine && !add_source(chain, ks_source_local_open()))
		return abandon(chain);
	chain->only.reserved = is_machine_only(&chain->only) && needs_reserved(&chain->only);
	if ((!is_machine_only(&chain->only) || chain->only.reserved) && !add_source(chain, ks_source_segment_open())) {
		chain->damaged = ks_is_lack(errno);
		ks_warnings_add(&chain->warnings, kstat_errmsg()); /* the machine's own kstats are still there */
	}
	return first_scan(chain);
}

/* Looks for this kstat alone: a chain of the whole machine takes milliseconds, and programs create thousands. */
static bool
machine_has(const char *module, int instance, const char *name)
{
	struct ks_operand operand = { .field[KS_OPERAND_MODULE] = { module, strlen(module) } };
	bool has = false;
	struct ks_selector one;
	kstat_ctl_t *kc;

	if (!ks_source_linux_is_named(module, NULL))
		return false;
	(void)snprintf(operand.instance, sizeof(operand.instance), "%d", instance);
	operand.field[KS_OPERAND_INSTANCE] = (struct ks_specifier){ operand.instance, strlen(operand.instance) };
	if (strpbrk(name, "*?[]{}!\\/") == NULL) /* else it could be taken for a pattern */
		operand.field[KS_OPERAND_NAME] = (struct ks_specifier){ name, strlen(name) };
	if (ks_selector_compile(&one, &operand) != 0)
		return false;
	kc = ks_chain_open(&(struct ks_only){ .machine = true, .selector = (const struct ks_selector *[]){ &one }, .n = 1 });
	if (kc != NULL) {
		has = kstat_lookup(kc, module, instance, name) != NULL;
		(void)kstat_close(kc);
	}
	ks_selector_free(&one);
	return has;
}

static __attribute__((constructor)) void
tell_providers(void)
{
	ks_machine_has = machine_has;
}

static const struct ks_only all_for_program = { .for_program = true, .plain = true };

kstat_ctl_t *
kstat_open(void)
{
	return ks_chain_open(&all_for_program);
}

kstat_ctl_t *
ks_chain_open_source(struct ks_source *src, const struct ks_only *only)
{
	struct ks_chain *chain;

	if (src == NULL)
		return NULL; /* its opening failed and left errno */
	chain = new_chain(only);
	if (chain == NULL) {
		int error = errno;

		src->ops->close(src);
		errno = error;
		return NULL;
	}
	(void)add_source(chain, src);
	return first_scan(chain);
}

kstat_ctl_t *
kstat_open_roots(const char *proc, const char *sys)
{
	return ks_chain_open_source(ks_source_linux_open(proc, sys), &all_for_program);
}

/* The time of day that a replay starts at, from the environment. 0, or -1 with errno EINVAL. */
static int
replay_time(int64_t *ns)
{
	const char *text = getenv("KSTAT_REPLAY_TIME");

	if (text == NULL || *text == '\0') {
		*ns = ks_time_of_day();
		return 0;
	}
	if (ks_scan_seconds(text, strlen(text), ns) != 0)
		return ks_fail(EINVAL, "KSTAT_REPLAY_TIME: '%.40s' is not a number of seconds since 1970",
		    text);
	return 0;
}

/* How large a sample may be, from the environment. 0, or -1 with errno EINVAL. */
static int
sample_max(size_t *bytes)
{
	const char *text = getenv("KSTAT_SAMPLE_MAX"), *at = text;
	uint64_t megabytes;

	if (text == NULL || *text == '\0')
		return 0;
	if (ks_scan_u64(&at, text + strlen(text), &megabytes) != 0 || *at != '\0' || megabytes == 0 ||
	    megabytes > SIZE_MAX >> 20)
		return ks_fail(EINVAL, "KSTAT_SAMPLE_MAX: '%.40s' is not a number of megabytes", text);
	*bytes = (size_t)megabytes << 20;
	return 0;
}

/* Says in which variable a time is that is none; keeps errno. */
static void
blame_variable(const struct ks_past *given, const struct ks_past *past)
{
	static const char *const names[] = { "KSTAT_FROM", "KSTAT_TO", "KSTAT_AT" };
	const char *const was[] = { given->from, given->to, given->at }, *const is[] = { past->from, past->to, past->at };
	char message[256];
	int64_t ns;
	int err = errno; /* reading a number that is too large or too small sets another one */

	for (int i = 0; i < 3; i++) {
		if (was[i] != NULL || is[i] == NULL || ks_when_read(is[i], 0, &ns) >= 0)
			continue;
		(void)snprintf(message, sizeof(message), "%s", kstat_errmsg());
		(void)ks_fail(err, "%s: %s", names[i], message);
		return;
	}
	errno = err;
}

/* Fails: nothing is recorded. Says what begins to record: the machine's service, where services are started. */
static void
fail_unrecorded(const char *directory)
{
	static const char text[] = "nothing is recorded in %.200s: '%s%.*s%s' begins to record; -r names a recording "
	    "or a directory";

	if (variable("KSTAT_RECORDINGS") == NULL && access("/run/systemd/system", F_OK) == 0)
		(void)ks_fail(ENOENT, text, directory, "systemctl enable --now kstat-record", 0, "", "");
	else
		(void)ks_fail(ENOENT, text, directory, "kstatlua record --directory ", 200, directory, " 10");
}

kstat_ctl_t *
ks_chain_open_replay(const struct ks_past *given, const struct ks_only *only)
{
	struct ks_past past = *given;
	struct ks_chain *chain;

	if (past.paths == NULL)
		past.paths = variable("KSTAT_SOURCE");
	if (past.paths == NULL) {
		past.paths = recordings();
		past.now = ks_time_of_day();
	}
	if (past.host == NULL)
		past.host = variable("KSTAT_HOST");
	if (given->at == NULL && given->from == NULL && given->to == NULL)
		past.at = variable("KSTAT_AT");
	if (past.at == NULL && given->from == NULL)
		past.from = variable("KSTAT_FROM");
	if (past.at == NULL && given->to == NULL)
		past.to = variable("KSTAT_TO");
	past.most = KS_SAMPLE_MAX;
	chain = new_chain(only);
	if (chain == NULL)
		return NULL;
	if (replay_time(&past.start) != 0 || sample_max(&past.most) != 0)
		return abandon(chain);
	if (!add_source(chain, ks_source_stream_open(&past))) {
		if (errno == EINVAL)
			blame_variable(given, &past);
		else if (errno == ENOENT && past.now != 0)
			fail_unrecorded(past.paths);
		return abandon(chain);
	}
	return first_scan(chain);
}

kstat_ctl_t *
kstat_open_capture(const char *path)
{
	return ks_chain_open_replay(&(struct ks_past){ .paths = path }, &all_for_program);
}
