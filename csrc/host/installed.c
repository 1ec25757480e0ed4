/*
 * installed.c - the installed scripts: where they are, which there are, and what each says of itself
 * in its first line, "--- name: what it is for". SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "host/host.h"

/* Where things are if /proc cannot tell where the executable is. */
#ifndef KSTAT_PREFIX
#define KSTAT_PREFIX "/usr/local"
#endif

/* The executable's path without its last two parts; NULL if there are none. */
static const char *
find_prefix(char *to, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", to, size - 1);

	if (n <= 0)
		return NULL;
	to[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(to, '/');

		if (slash == NULL)
			return NULL;
		*slash = '\0';
	}
	return to;
}

const char *
ks_installed_prefix(void)
{
	static char room[PATH_MAX];
	static const char *prefix;

	if (prefix == NULL)
		prefix = find_prefix(room, sizeof(room));
	if (prefix == NULL)
		prefix = KSTAT_PREFIX;
	return prefix;
}

static int
is_script(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 4 && strcmp(entry->d_name + n - 4, ".lua") == 0;
}

/* By bytes, whatever the locale: strcmp(), not alphasort(). */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Calls fn with each script's name, in order, and its path. */
static void
each_script(void (*fn)(struct ks_buf *to, const char *name, const char *path), struct ks_buf *to)
{
	char path[PATH_MAX + 300];
	const char *prefix = ks_installed_prefix();
	struct dirent **found = NULL;
	int n;

	(void)snprintf(path, sizeof(path), "%s/share/kstat/scripts", prefix);
	n = scandir(path, &found, is_script, by_name);
	for (int i = 0; i < n; i++) {
		char *name = found[i]->d_name;

		(void)snprintf(path, sizeof(path), "%s/share/kstat/scripts/%s", prefix, name);
		name[strlen(name) - 4] = '\0';
		fn(to, name, path);
		free(found[i]);
	}
	free(found);
}

static void
add_name(struct ks_buf *to, const char *name, const char *path)
{
	(void)path;
	ks_buf_addf(to, "%s%s", to->len > 0 ? ", " : "", name);
}

void
ks_installed_names(struct ks_buf *to)
{
	each_script(add_name, to);
	if (to->len == 0)
		ks_buf_adds(to, "none");
}

static void
add_about(struct ks_buf *to, const char *name, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256] = "";
	const char *about;
	size_t n = strlen(name);

	if (f != NULL) {
		if (fgets(line, sizeof(line), f) == NULL)
			line[0] = '\0';
		(void)fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	if (line[0] != '\0' && line[strlen(line) - 1] == '.')
		line[strlen(line) - 1] = '\0';
	about = line + strspn(line, "-");
	about += strspn(about, " ");
	if (about == line || strncmp(about, name, n) != 0 || about[n] != ':')
		about = "";
	else
		about += n + 1 + strspn(about + n + 1, " ");
	ks_buf_addf(to, *about != '\0' ? "  %-11s %s\n" : "  %s\n", name, about);
}

void
ks_installed_abouts(struct ks_buf *to)
{
	each_script(add_about, to);
}
