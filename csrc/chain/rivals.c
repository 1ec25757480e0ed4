/* rivals.c - see rivals.h. SPDX-License-Identifier: MIT */
#include "chain/rivals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "chain/bound.h"
#include "source/sources.h"

static bool
bounds_classes(const struct ks_only *only)
{
	for (size_t i = 0; i < only->n; i++) {
		if (only->selector[i]->class_.kind != KS_PATTERN_ANY)
			return true;
	}
	return false;
}

/*
 * In place of a regular expression of the bound a pattern is used that matches everything: the expression keeps its
 * own failures, which are for the chain that it belongs to.
 */
static struct ks_pattern
borrow(const struct ks_pattern *p)
{
	return p->kind == KS_PATTERN_REGEX ? (struct ks_pattern){ .kind = KS_PATTERN_ANY } : *p;
}

/* The bound without what it says of classes. 0, or -1 with errno ENOMEM. */
static int
widen(struct ks_rivals *r, const struct ks_only *only)
{
	r->selector = calloc(only->n, sizeof(*r->selector));
	r->list = calloc(only->n, sizeof(*r->list));
	if (r->selector == NULL || r->list == NULL)
		return ks_fail(ENOMEM, "out of memory for the bound of a chain");
	for (size_t i = 0; i < only->n; i++) {
		r->selector[i] = (struct ks_selector){
			.module = borrow(&only->selector[i]->module),
			.instance = borrow(&only->selector[i]->instance),
			.name = borrow(&only->selector[i]->name),
			.class_ = { .kind = KS_PATTERN_ANY },
		};
		r->list[i] = &r->selector[i];
	}
	return 0;
}

struct listing {
	struct ks_bound_scan base;
	struct ks_rivals *rivals;
};

static int
list_offer(struct ks_scan *base, const struct ks_offer *offer)
{
	struct listing *l = (struct listing *)base;

	if (!ks_bound_has(l->base.only, offer))
		return 0;
	return ks_nodes_append(&l->rivals->machine, NULL, offer) != NULL ? 0 : -1;
}

/* The chain's own scan of the machine has told the user already. */
static void
list_warn(struct ks_scan *base, bool damaged, const char *line)
{
	(void)base;
	(void)damaged;
	(void)line;
}

static const struct ks_scan_ops list_ops = { list_offer, ks_bound_wants, ks_bound_wants_only, ks_bound_names,
	ks_bound_asks_for, ks_bound_spells, list_warn, NULL, NULL, NULL, NULL, NULL };

/* Lists the machine's kstats within the wider bound. 0, or -1 with errno. */
static int
list_machine(struct ks_rivals *r, const struct ks_only *only)
{
	struct ks_only wide = { .n = only->n };
	struct listing l = { .base = { { .ops = &list_ops }, &wide }, .rivals = r };
	struct ks_source *machine;
	int rc;

	if (widen(r, only) != 0)
		return -1;
	wide.selector = r->list;
	ks_nodes_init(&r->machine);
	r->listed = true;
	machine = ks_machine_open();
	if (machine == NULL)
		return -1;
	rc = machine->ops->scan(machine, &l.base.base);
	machine->ops->close(machine);
	return rc < 0 ? -1 : 0;
}

struct ks_source *
ks_machine_open(void)
{
	const char *proc = getenv("KSTAT_PROC"), *sys = getenv("KSTAT_SYS");

	return ks_source_linux_open(proc != NULL && *proc != '\0' ? proc : NULL,
	    sys != NULL && *sys != '\0' ? sys : NULL);
}

int
ks_rivals_find(struct ks_rivals *r, const struct ks_only *only, const char *module, int instance,
    const char *name)
{
	if (!bounds_classes(only))
		return 0;
	if (!r->listed && list_machine(r, only) != 0) {
		int err = errno;

		ks_rivals_free(r);
		errno = err;
		return -1;
	}
	return ks_nodes_newest(&r->machine, module, instance, name) != NULL;
}

void
ks_rivals_free(struct ks_rivals *r)
{
	if (r->listed)
		ks_nodes_free(&r->machine);
	free(r->selector);
	free(r->list);
	*r = (struct ks_rivals){ .listed = false };
}
