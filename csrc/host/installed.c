/*
 * installed.c - the installed scripts: where they lie, which there are, and what each says of itself
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
#include "host/modules.h"

/* The prefix where /proc cannot say where the executable is. */
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

/* Appends a script's name, and unless `about` is NULL what it is for. */
static void
add(struct ks_buf *to, const char *name, const char *about)
{
	if (about == NULL)
		ks_buf_addf(to, "%s%s", to->len > 0 ? ", " : "", name);
	else
		ks_buf_addf(to, *about != '\0' ? "  %-11s %s\n" : "  %s\n", name, about);
}

/* Stores in `line` what the first line of a script's file says after its name, "" if it says nothing. */
static const char *
read_about(const char *name, const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	const char *about;
	size_t n = strlen(name);

	line[0] = '\0';
	if (f != NULL) {
		if (fgets(line, size, f) == NULL)
			line[0] = '\0';
		(void)fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	if (line[0] != '\0' && line[strlen(line) - 1] == '.')
		line[strlen(line) - 1] = '\0';
	about = line + strspn(line, "-");
	about += strspn(about, " ");
	if (about == line || strncmp(about, name, n) != 0 || about[n] != ':')
		return "";
	return about + n + 1 + strspn(about + n + 1, " ");
}

/* A script: a file, or the compiled one of the executable where there is no such file. */
struct script {
	char *name; /* without ".lua" */
	const struct ks_module *compiled;
};

/* Orders by bytes, whatever the locale is; of one name the file comes first. */
static int
compare(const void *a, const void *b)
{
	const struct script *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x->compiled != NULL) - (y->compiled != NULL);
}

/* Appends all installed scripts in the order of their names, with what they are for if `abouts`. */
static void
add_all(struct ks_buf *to, bool abouts)
{
	char path[PATH_MAX + 300], line[256];
	const char *prefix = ks_installed_prefix();
	struct dirent **found = NULL;
	struct script *list;
	size_t n = 0, most = 0;
	int files;

	while (ks_modules[most].name != NULL)
		most++;
	(void)snprintf(path, sizeof(path), "%s/share/kstat/scripts", prefix);
	files = scandir(path, &found, is_script, NULL);
	files = files < 0 ? 0 : files;
	list = calloc((size_t)files + most + 1, sizeof(*list));
	for (int i = 0; i < files && list != NULL; i++) {
		list[n].name = found[i]->d_name;
		list[n].name[strlen(list[n].name) - 4] = '\0';
		n++;
	}
	for (size_t i = 0; i < most && list != NULL; i++) {
		list[n] = (struct script){ (char *)ks_modules_script_name(&ks_modules[i]), &ks_modules[i] };
		n += list[n].name != NULL;
	}
	if (list != NULL)
		qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n; i++) {
		const struct script *s = &list[i];

		if (i > 0 && strcmp(list[i - 1].name, s->name) == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/share/kstat/scripts/%s.lua", prefix, s->name);
		add(to, s->name, !abouts ? NULL : s->compiled != NULL ? s->compiled->about :
		    read_about(s->name, path, line, sizeof(line)));
	}
	free(list);
	for (int i = 0; i < files; i++)
		free(found[i]);
	free(found);
}

void
ks_installed_names(struct ks_buf *to)
{
	add_all(to, false);
	if (to->len == 0)
		ks_buf_adds(to, "none");
}

void
ks_installed_abouts(struct ks_buf *to)
{
	add_all(to, true);
}
