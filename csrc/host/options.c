/* options.c - the command line of kstatlua. SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "host/host.h"
#include "kstat.h"

static const char usage[] =
    "usage: kstatlua [options] script.lua [arguments] [interval [count]]\n"
    "       kstatlua [options] name [arguments] [interval [count]]     an installed script\n"
    "       kstatlua [options] -e chunk [arguments] [interval [count]]\n"
    "\n"
    "  -e chunk    run this Lua text, and the report that it returns; may be repeated\n"
    "  -l module   load a module into the global of its name first (-l name=module: another name)\n"
    "  -i          then read and run lines, with editing and history\n"
    "  -r capture  read kstats from a capture (kstat -j, a recording) in place of the machine; -: stdin\n"
    "  -W          turn Lua's warnings on\n"
    "  -v          print the version\n"
    "  --help      print this\n"
    "  --          end of options;  a script named - is standard input\n"
    "\n"
    "In a script, `kstat` is the module and `arg` holds the arguments: see kstatlua(1).\n";

static const struct option long_options[] = {
	{ "complete", no_argument, NULL, 'c' }, /* for shells, see lua/kstat/complete; not in the usage */
	{ "help", no_argument, NULL, 'h' },
	{ "interactive", no_argument, NULL, 'i' },
	{ "replay", required_argument, NULL, 'r' },
	{ "version", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Every name but kstatlua, kstatlua5.4 and the like is the name of a script. */
static bool
is_host_name(const char *name)
{
	return strncmp(name, "kstatlua", 8) == 0;
}

static int
wrong(const struct ks_options *o, const char *what, const char *option)
{
	fprintf(stderr, "%s: %s '%s'; 'kstatlua --help' lists the options\n", o->program, what, option);
	return -1;
}

/* The option as it was typed, for messages; in a bundle of letters getopt() has moved past it. */
static const char *
typed_option(char **argv, char *short_form)
{
	if (optopt == 0 || strncmp(argv[optind - 1], "--", 2) == 0)
		return argv[optind - 1];
	short_form[1] = (char)optopt;
	return short_form;
}

static int
read_options(struct ks_options *o)
{
	char short_form[] = "-?";
	int letter;

	opterr = 0;
	while ((letter = getopt_long(o->argc, o->argv, "+:e:hil:r:vW", long_options, NULL)) != -1) {
		switch (letter) {
		case 'e':
			o->chunks = true;
			/* FALLTHROUGH */
		case 'l':
			o->preload[o->n++] = (struct ks_preload){ (char)letter, optarg };
			break;
		case 'c':
			o->complete = true;
			o->operand = optind; /* whatever follows is the command line in question */
			return 0;
		case 'h':
			o->help = true;
			break;
		case 'i':
			o->interactive = true;
			break;
		case 'r':
			o->capture = optarg;
			break;
		case 'v':
			o->version = true;
			break;
		case 'W':
			o->warnings = true;
			break;
		case ':':
			return wrong(o, "an argument is missing behind", typed_option(o->argv, short_form));
		default:
			return wrong(o, "unknown option", typed_option(o->argv, short_form));
		}
	}
	o->operand = optind;
	return 0;
}

int
ks_options_read(struct ks_options *o, int argc, char **argv)
{
	const char *name = argc > 0 && argv[0][0] != '\0' ? base_name(argv[0]) : "kstatlua";

	*o = (struct ks_options){ .program = name, .argc = argc, .argv = argv, .operand = argc };
	if (argc > 0 && !is_host_name(name)) {
		o->installed = name;
		o->operand = 1;
		return 0;
	}
	o->preload = calloc((size_t)argc + 1, sizeof(*o->preload));
	if (o->preload == NULL) {
		fprintf(stderr, "%s: out of memory\n", name);
		return KS_EXIT_FATAL;
	}
	return argc > 0 && read_options(o) != 0 ? KS_EXIT_USAGE : 0;
}

const char *
ks_options_text(void)
{
	return usage;
}

void
ks_options_usage(void)
{
	struct ks_buf list = KS_BUF_INIT;

	fputs(usage, stdout);
	ks_installed_abouts(&list);
	if (list.len > 0)
		printf("\nInstalled scripts; name --help explains each:\n\n%.*s", (int)list.len,
		    list.data);
	ks_buf_free(&list);
}

void
ks_options_version(void)
{
	puts("kstatlua " KSTAT_VERSION " (" LUA_RELEASE ")");
}
