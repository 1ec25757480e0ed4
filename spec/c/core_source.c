/*
 * core_source.c - for linux_spec.lua: lists what the Linux source offers, with no chain above it:
 *
 *     core_source PROC SYS [MODULE]
 *
 * Prints "module:instance:name" of each kstat, and "warning LINE" for each warning. With MODULE the
 * scan wants no kstat of another module. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "source/sources.h"

struct listing {
	struct ks_scan scan;
	const char *module;
};

static int
print_offer(struct ks_scan *scan, const struct ks_offer *offer)
{
	(void)scan;
	return printf("%s:%d:%s\n", offer->module, offer->instance, offer->name) < 0 ? -1 : 0;
}

static bool
is_wanted(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	const char *wanted = ((const struct listing *)scan)->module;

	(void)class_;
	(void)name;
	return wanted == NULL || module == NULL || strcmp(module, wanted) == 0;
}

static bool
is_bounded(const struct ks_scan *scan, bool (*has)(const char *module))
{
	const char *wanted = ((const struct listing *)scan)->module;

	return wanted != NULL && has(wanted);
}

static bool
is_named(const struct ks_scan *scan, const char *module)
{
	const char *wanted = ((const struct listing *)scan)->module;

	return wanted != NULL && strcmp(module, wanted) == 0;
}

static void
print_warning(struct ks_scan *scan, bool damaged, const char *line)
{
	(void)scan;
	printf("%s %s\n", damaged ? "damage" : "warning", line);
}

int
main(int argc, char **argv)
{
	static const struct ks_scan_ops ops = { print_offer, is_wanted, is_bounded, is_named, NULL, NULL, print_warning, NULL,
		NULL, NULL, NULL, NULL };
	struct listing listing = { { .ops = &ops }, argc > 3 ? argv[3] : NULL };
	struct ks_source *source = argc > 2 ? ks_source_linux_open(argv[1], argv[2]) : NULL;
	int rc;

	if (source == NULL)
		return 2;
	rc = source->ops->scan(source, &listing.scan);
	source->ops->close(source);
	return rc == 1 ? 0 : 1;
}
