/*
 * installed.c - the installed scripts: where they lie, which there are, and what each says of itself in its first line,
 * "--- name: what it is for"; and how those that are compiled are loaded. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <glob.h>
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "host/host.h"

#define SCRIPTS "scripts/" /* before the names of those that are compiled */

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

/*
 * The folders of scripts, in the order in which a name is looked for: those that came with the host, which no other
 * hides; the user's; the machine's; and those of rocks, which have a folder share/kstat/scripts of their own
 * (copy_directories of a rockspec), or install into that of the tree. Room for `most` patterns; returns how many.
 */
static size_t
home_patterns(char (*pattern)[PATH_MAX], size_t most)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	const char *trees[] = { ks_installed_prefix(), "/usr/local", "/usr", NULL };
	char own[PATH_MAX];
	size_t n = 0;

	(void)snprintf(pattern[n++], PATH_MAX, "%s/share/kstat/scripts", ks_installed_prefix());
	if (config != NULL && config[0] == '/')
		(void)snprintf(pattern[n++], PATH_MAX, "%s/kstat/scripts", config);
	else if (home != NULL && home[0] == '/')
		(void)snprintf(pattern[n++], PATH_MAX, "%s/.config/kstat/scripts", home);
	(void)snprintf(pattern[n++], PATH_MAX, "/etc/kstat/scripts");
	if (home != NULL && home[0] == '/' && snprintf(own, sizeof(own), "%s/.luarocks", home) < PATH_MAX)
		trees[3] = own;
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]) && n + 2 <= most; i++) {
		if (trees[i] == NULL || (i > 0 && i < 3 && strcmp(trees[i], trees[0]) == 0))
			continue;
		if (i > 0)
			(void)snprintf(pattern[n++], PATH_MAX, "%.4000s/share/kstat/scripts", trees[i]);
		(void)snprintf(pattern[n++], PATH_MAX, "%.4000s/lib/luarocks/rocks-5.4/*/*/share/kstat/scripts",
		    trees[i]);
	}
	return n;
}

/* Finds the folders that there are; they are freed by globfree(). */
static void
find_homes(glob_t *homes)
{
	char pattern[12][PATH_MAX];
	size_t n = home_patterns(pattern, sizeof(pattern) / sizeof(pattern[0]));

	memset(homes, 0, sizeof(*homes));
	for (size_t i = 0; i < n; i++)
		(void)glob(pattern[i], i > 0 ? GLOB_APPEND : 0, NULL, homes);
}

bool
ks_installed_find(const char *name, char *path, size_t size)
{
	glob_t homes;
	bool found = false;

	find_homes(&homes);
	for (size_t i = 0; i < homes.gl_pathc && !found; i++) {
		int n = snprintf(path, size, "%s/%s.lua", homes.gl_pathv[i], name);

		found = n > 0 && (size_t)n < size && access(path, R_OK) == 0;
	}
	globfree(&homes);
	return found;
}

/* --- the list ---------------------------------------------------------------------------------------------- */

/* A script: a file, or the compiled one of the executable where there is no such file. */
struct script {
	char *name;       /* owned, if it is a file; without ".lua" */
	const char *home; /* the folder of the file; NULL: it is compiled */
	const struct ks_module *compiled;
	size_t place;     /* of several with one name the first counts */
};

struct scripts {
	struct script *list;
	size_t n, cap;
};

static void
add_script(struct scripts *s, const struct script *script)
{
	if (!KS_RESERVE(s->list, s->cap, s->n + 1)) {
		free(script->home != NULL ? script->name : NULL);
		return;
	}
	s->list[s->n] = *script;
	s->list[s->n].place = s->n;
	s->n++;
}

static void
add_home(struct scripts *s, const char *home)
{
	DIR *d = opendir(home);
	const struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		size_t n = strlen(entry->d_name);
		struct stat st;
		char *name;

		if (n <= 4 || strcmp(entry->d_name + n - 4, ".lua") != 0 || entry->d_name[0] == '.' ||
		    fstatat(dirfd(d), entry->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
			continue; /* a pipe would have to be waited for */
		name = strndup(entry->d_name, n - 4);
		if (name != NULL)
			add_script(s, &(struct script){ .name = name, .home = home });
	}
	if (d != NULL)
		(void)closedir(d);
}

/* Orders by bytes, whatever the locale is. */
static int
compare(const void *a, const void *b)
{
	const struct script *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/*
 * Stores in `line` what the first line of a script's file says, a comment, which begins with the script's name and a
 * colon or goes without; "" if it says nothing.
 */
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
	line[strcspn(line, "\r\n")] = '\0';
	for (char *c = line; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == '\177')
			*c = '?'; /* nothing that a terminal obeys */
	}
	if (line[0] != '\0' && line[strlen(line) - 1] == '.')
		line[strlen(line) - 1] = '\0';
	if (strncmp(line, "--", 2) != 0)
		return "";
	about = line + strspn(line, "-");
	about += strspn(about, " ");
	if (strncmp(about, name, n) == 0 && about[n] == ':')
		about += n + 1 + strspn(about + n + 1, " ");
	return about;
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

/* The name of a compiled script without its directory, or NULL if the module is not a script. */
static const char *
script_name(const struct ks_module *m)
{
	size_t n = strlen(SCRIPTS);

	return strncmp(m->name, SCRIPTS, n) == 0 ? m->name + n : NULL;
}

/* Appends all scripts in the order of their names, with what they are for if `abouts`. */
static void
add_all(struct ks_buf *to, bool abouts)
{
	struct scripts s = { NULL, 0, 0 };
	char path[PATH_MAX + 300], line[256];
	glob_t homes;

	find_homes(&homes);
	if (homes.gl_pathc > 0)
		add_home(&s, homes.gl_pathv[0]);
	for (size_t i = 0; ks_modules[i].name != NULL; i++) {
		const char *name = script_name(&ks_modules[i]);

		if (name != NULL)
			add_script(&s, &(struct script){ .name = (char *)name, .compiled = &ks_modules[i] });
	}
	for (size_t i = 1; i < homes.gl_pathc; i++)
		add_home(&s, homes.gl_pathv[i]);
	if (s.n > 0)
		qsort(s.list, s.n, sizeof(*s.list), compare);
	for (size_t i = 0; i < s.n; i++) {
		const struct script *one = &s.list[i];

		if (i > 0 && strcmp(one[-1].name, one->name) == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s.lua", one->home != NULL ? one->home : "", one->name);
		add(to, one->name, !abouts ? NULL : one->home == NULL ? one->compiled->about :
		    read_about(one->name, path, line, sizeof(line)));
	}
	for (size_t i = 0; i < s.n; i++)
		free(s.list[i].home != NULL ? s.list[i].name : NULL);
	free(s.list);
	globfree(&homes);
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

/* --- compiled modules and scripts --------------------------------------------------------------------- */

static bool
is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* When the executable was written; a time before all others if that is not known. */
static const struct timespec *
built(void)
{
	static struct timespec when;
	static bool known;
	struct stat self;

	if (!known) {
		known = true;
		when = stat("/proc/self/exe", &self) == 0 ? self.st_mtim :
		    (struct timespec){ .tv_sec = INT64_MIN };
	}
	return &when;
}

static const struct ks_module *
find(const char *name)
{
	const struct ks_module *m = ks_modules;

	while (m->name != NULL && strcmp(m->name, name) != 0)
		m++;
	return m->name != NULL ? m : NULL;
}

/* Pushes the compiled function, unless the file at `path` is newer. A file that is missing is not newer. */
static bool
push(lua_State *L, const struct ks_module *m, const char *path)
{
	struct stat file;

	if (m == NULL || (stat(path, &file) == 0 && is_newer(&file.st_mtim, built())))
		return false;
	if (luaL_loadbufferx(L, (const char *)m->code, m->size, m->file, "b") == LUA_OK)
		return true;
	lua_pop(L, 1);
	return false;
}

/* A searcher of require(): returns a loader and the file that it stands for, or nothing. */
static int
search(lua_State *L)
{
	const struct ks_module *m = find(luaL_checkstring(L, 1));

	if (m == NULL)
		return 0;
	lua_pushfstring(L, "%s/%s", lua_tostring(L, lua_upvalueindex(1)), m->file);
	if (!push(L, m, lua_tostring(L, -1)))
		return 0;
	lua_insert(L, -2);
	return 2;
}

/* LPeg, where its archive is linked in. */
int luaopen_lpeg(lua_State *L) __attribute__((weak));

void
ks_modules_install(lua_State *L, const char *dir)
{
	if (luaopen_lpeg != NULL) {
		luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
		lua_pushcfunction(L, luaopen_lpeg);
		lua_setfield(L, -2, "lpeg");
		lua_pop(L, 1);
	}
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "searchers");
	/* The new searcher stands behind that of package.preload and before those of files. */
	for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
		lua_rawgeti(L, -1, i);
		lua_rawseti(L, -2, i + 1);
	}
	lua_pushstring(L, dir);
	lua_pushcclosure(L, search, 1);
	lua_rawseti(L, -2, 2);
	lua_pop(L, 2);
}

bool
ks_modules_script(lua_State *L, const char *name, const char *path)
{
	bool found;

	lua_pushfstring(L, SCRIPTS "%s", name);
	found = push(L, find(lua_tostring(L, -1)), path);
	lua_remove(L, found ? -2 : -1);
	return found;
}
