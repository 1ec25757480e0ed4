/*
 * stats_text.c - fuzzes template specs and lists of sampling rates. What is read must come
 * back the same from its normative form. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "stats/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct ks_rates rates;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return stats_tpl_alloc("a", 0) < 0 || stats_tpl_alloc("x=y,z", 0) < 0 ||
	    stats_tpl_alloc("n:1", 0) < 0 || stats_tpl_alloc("", 0) < 0;
}

static int
owner(enum stats_tpl_sr_cb_action action, struct stats_tpl_sample_rate **list, int *n, void *ctx)
{
	struct ks_rates old = rates;

	(void)ctx;
	if (action == TPL_SR_PUT) {
		rates = (struct ks_rates){ *list, *n };
		*list = old.list;
		*n = old.n;
	} else if (action != TPL_SR_RUNLOCK) {
		*list = rates.list;
		*n = rates.n;
	}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size > 0 ? size : 1), *back;
	size_t len = 0;
	uint32_t sum = 0;
	int n;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	(void)stats_tpl_fetch_spec(text, size);
	if (stats_tpl_sample_rates(owner, 8, NULL, NULL, text, size) == 0) {
		for (int i = 0; i < rates.n; i++)
			sum += rates.list[i].tpl_sample_pct;
		if (sum > 100)
			abort();
		n = rates.n;
		if (stats_tpl_sample_rates(owner, 0, NULL, &len, NULL, 0) != 0)
			abort();
		back = malloc(len);
		if (back == NULL || stats_tpl_sample_rates(owner, 0, back, &len, NULL, 0) != 0 ||
		    stats_tpl_sample_rates(owner, 0, NULL, NULL, back, len - 1) != 0 || rates.n != n)
			abort();
		free(back);
		(void)stats_tpl_sample_rollthedice(rates.list, rates.n, text, size);
	}
	free(text);
	return 0;
}
