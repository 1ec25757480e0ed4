/* options.c - the command line of kstatlua. SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/printable.h"
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
    "  -r file     read kstats from a recording, a directory of them or a capture (kstat -j) in place of\n"
    "              the machine; -: stdin; repeat it for more than one\n"
    "  --from time, --to time, --at time, --host name\n"
    "              of what was recorded: between two times, the interval that ends at one, of one machine\n"
    "  -W          turn Lua's warnings on\n"
    "  -v          print the version\n"
    "  --help      print this\n"
    "  --          end of options;  a script named - is standard input\n"
    "\n"
    "In a script, `kstat` is the module and `arg` holds the arguments: see kstatlua(1).\n";

/* Options that name the past: the first one's letter, and the variables that scripts and tools have them by. */
#define KS_FROM 256
static const char *const past_variables[] = { "KSTAT_FROM", "KSTAT_TO", "KSTAT_AT", "KSTAT_HOST" };

static const struct option long_options[] = {
	{ "complete", no_argument, NULL, 'c' }, /* for shells, see lua/kstat/complete; not in the usage */
	{ "help", no_argument, NULL, 'h' },
	{ "interactive", no_argument, NULL, 'i' },
	{ "replay", required_argument, NULL, 'r' },
	{ "from", required_argument, NULL, KS_FROM },
	{ "to", required_argument, NULL, KS_FROM + 1 },
	{ "at", required_argument, NULL, KS_FROM + 2 },
	{ "host", required_argument, NULL, KS_FROM + 3 },
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

/* Prints what is wrong with an option: at most 60 characters of it, and nothing that a terminal obeys. */
static int
wrong(const struct ks_options *o, const char *what, const char *option)
{
	size_t left = strlen(option), most = 60;

	fprintf(stderr, "%s: %s '", o->program, what);
	while (left > 0 && most-- > 0) {
		bool printable;
		size_t n = ks_character(option, left, &printable);

		fprintf(stderr, "%.*s", printable ? (int)n : 1, printable ? option : "?");
		option += n;
		left -= n;
	}
	fprintf(stderr, "%s'; 'kstatlua --help' lists the options\n", left > 0 ? "~" : "");
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

/* Adds a file to those that are replayed: KSTAT_SOURCE has a path a line. */
static int
add_capture(struct ks_options *o, const char *path)
{
	const char *before = o->replays ? getenv("KSTAT_SOURCE") : NULL;
	struct ks_buf paths = KS_BUF_INIT;
	int rc;

	if (before != NULL)
		ks_buf_addf(&paths, "%s\n", before);
	ks_buf_add(&paths, path, strlen(path) + 1);
	rc = paths.failed ? -1 : setenv("KSTAT_SOURCE", paths.data, 1);
	ks_buf_free(&paths);
	o->replays = true;
	return rc;
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
			if (add_capture(o, optarg) != 0)
				return -1;
			break;
		case KS_FROM:
		case KS_FROM + 1:
		case KS_FROM + 2:
		case KS_FROM + 3:
			if (setenv(past_variables[letter - KS_FROM], optarg, 1) != 0)
				return -1;
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

/* The scripts of ours by what they are for; those of the user and of rocks are in the last group. */
static const struct {
	const char *title, *names;
} groups[] = {
	{ "Look", " kstat top use " },
	{ "Reports", " arcstat devstat fsstat intrstat iostat listen mpstat nicstat prstat prtop vmstat " },
	{ "The past", " convert diff record " },
	{ "Serve", " exporter latency " },
	{ "Scripts", "" },
};

/* The group of the script whose name begins here and is so long. */
static size_t
group_of(const char *name, int n)
{
	char word[80];
	size_t last = sizeof(groups) / sizeof(groups[0]) - 1, i = 0;

	(void)snprintf(word, sizeof(word), " %.*s ", n, name);
	while (i < last && strstr(groups[i].names, word) == NULL)
		i++;
	return i;
}

/* Prints the lines of a group, each of which has a name behind two blanks. */
static void
print_group(const char *lines, size_t group)
{
	printf("\n%s\n", groups[group].title);
	for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
		if (group_of(lines + 2, (int)strcspn(lines + 2, " \n")) == group)
			printf("%.*s\n", (int)(end - lines), lines);
	}
	if (groups[group].names[0] == '\0')
		puts("  NAME.lua    your own, in ~/.config/kstat/scripts or /etc/kstat/scripts: see kstatlua(1)");
}

void
ks_options_usage(void)
{
	struct ks_buf list = KS_BUF_INIT;

	fputs(usage, stdout);
	ks_installed_abouts(&list);
	ks_buf_addc(&list, '\0');
	if (list.data != NULL && list.len > 1) {
		fputs("\nInstalled scripts; name --help explains each:\n", stdout);
		for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
			print_group(list.data, i);
	}
	ks_buf_free(&list);
}

void
ks_options_version(void)
{
	puts("kstatlua " KSTAT_VERSION " (" LUA_RELEASE ")");
}
