/*
 * insertion.c - the old way to print kstats in order, for comparison: every kstat is inserted
 * into a sorted linked list, found by walking from the head, and so is each of its statistics
 * into a list of its own; then everything is printed as `kstat -p` does.
 *     insertion FILE
 * Each line of FILE is one statistic, already parsed: module, instance, name, class, statistic
 * and value with tabs between; the lines of a kstat follow each other. The program
 * does only the work for the list, so the comparison is in its favour. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct stat_node {
	struct stat_node *next;
	const char *name;
	const char *value;
};

struct kstat_node {
	struct kstat_node *next;
	const char *module;
	long instance;
	const char *name;
	const char *class_;
	struct stat_node *stats;
};

static void *
allocate(size_t n)
{
	void *p = malloc(n);

	if (p == NULL)
		exit(2);
	return p;
}

static char *
contents(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	long n;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) < 0) {
		perror(path);
		exit(2);
	}
	rewind(f);
	text = allocate((size_t)n + 1);
	if (fread(text, 1, (size_t)n, f) != (size_t)n)
		exit(2);
	text[n] = '\0';
	(void)fclose(f);
	return text;
}

/* As the command compares: module, instance, name. */
static int
compare(const struct kstat_node *a, const struct kstat_node *b)
{
	int c = strcasecmp(a->module, b->module);

	if (c == 0)
		c = a->instance < b->instance ? -1 : a->instance > b->instance;
	return c != 0 ? c : strcasecmp(a->name, b->name);
}

static void
insert_kstat(struct kstat_node **head, struct kstat_node *node)
{
	while (*head != NULL && compare(*head, node) < 0)
		head = &(*head)->next;
	node->next = *head;
	*head = node;
}

static void
insert_stat(struct stat_node **head, const char *name, const char *value)
{
	struct stat_node *node = allocate(sizeof(*node));

	node->name = name;
	node->value = value;
	while (*head != NULL && strcasecmp((*head)->name, name) < 0)
		head = &(*head)->next;
	node->next = *head;
	*head = node;
}

int
main(int argc, char **argv)
{
	struct kstat_node *list = NULL, *last = NULL;
	char *text, *line;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: insertion FILE\n");
		return 2;
	}
	text = contents(argv[1]);
	while ((line = strsep(&text, "\n")) != NULL && *line != '\0') {
		const char *field[6];

		for (int i = 0; i < 6; i++)
			field[i] = strsep(&line, "\t");
		if (field[5] == NULL)
			return 2;
		if (last == NULL || strcmp(last->name, field[2]) != 0 ||
		    last->instance != atol(field[1]) || strcmp(last->module, field[0]) != 0) {
			if (last != NULL)
				insert_kstat(&list, last);
			last = allocate(sizeof(*last));
			*last = (struct kstat_node){ NULL, field[0], atol(field[1]), field[2],
			    field[3], NULL };
		}
		insert_stat(&last->stats, field[4], field[5]);
	}
	if (last != NULL)
		insert_kstat(&list, last);
	for (const struct kstat_node *k = list; k != NULL; k = k->next) {
		for (const struct stat_node *s = k->stats; s != NULL; s = s->next)
			(void)printf("%s:%ld:%s:%s\t%s\n", k->module, k->instance, k->name,
			    s->name, s->value);
	}
	return 0;
}
