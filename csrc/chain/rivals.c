/* rivals.c - see rivals.h. SPDX-License-Identifier: MIT */
#include "chain/rivals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "chain/handle.h"

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

static int
open_machine(struct ks_rivals *r, const struct ks_only *only)
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
	r->machine = ks_chain_open_machine(&(struct ks_only){ .selector = r->list, .n = only->n });
	return r->machine == NULL ? -1 : 0;
}

int
ks_rivals_find(struct ks_rivals *r, const struct ks_only *only, const char *module, int instance,
    const char *name)
{
	if (!bounds_classes(only))
		return 0;
	if (r->machine == NULL && open_machine(r, only) != 0) {
		int err = errno;

		ks_rivals_free(r);
		errno = err;
		return -1;
	}
	return ks_nodes_newest(&ks_chain_of(r->machine)->nodes, module, instance, name) != NULL;
}

void
ks_rivals_free(struct ks_rivals *r)
{
	if (r->machine != NULL)
		(void)kstat_close(r->machine);
	free(r->selector);
	free(r->list);
	*r = (struct ks_rivals){ NULL, NULL, NULL };
}
