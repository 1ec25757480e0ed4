/*
 * clients.c - `clients NAME ...` runs the clients of these names, each with a chain of its own; `clients` prints
 * all names. SPDX-License-Identifier: MIT
 */
#include "clients.h"

kstat_ctl_t *kc;

void
fail(const char *what, const char *which)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: %s\n", which, what);
	exit(1);
}

kstat_t *
without(const char *module, int instance, const char *name)
{
	kstat_t *ksp = kstat_lookup(kc, module, instance, name);

	return (ksp != NULL && kstat_read(kc, ksp, NULL) > 0 ? ksp : NULL);
}

kstat_t *
need(const char *module, int instance, const char *name)
{
	kstat_t *ksp = without(module, instance, name);

	if (ksp == NULL)
		fail("absent", name != NULL ? name : module);
	return (ksp);
}

kstat_named_t *
look(kstat_t *ksp, const char *name)
{
	return ((kstat_named_t *)kstat_data_lookup(ksp, name));
}

kstat_t *
next_of(kstat_t *ksp, const char *module, const char *name)
{
	size_t prefix = name != NULL ? strcspn(name, "*") : 0;

	for (ksp = ksp == NULL ? kc->kc_chain : ksp->ks_next; ksp != NULL; ksp = ksp->ks_next) {
		if (module != NULL && strcmp(ksp->ks_module, module) != 0)
			continue;
		if (name == NULL || (name[prefix] == '*' ? strncmp(ksp->ks_name, name, prefix) == 0 :
		    strcmp(ksp->ks_name, name) == 0))
			break;
	}
	return (ksp);
}

static void
show_id(const kstat_t *ksp, const char *statistic)
{
	(void)printf("%s:%d:%s:%s\t", ksp->ks_module, ksp->ks_instance, ksp->ks_name, statistic);
}

void
show_number(const kstat_t *ksp, const char *statistic, u_longlong_t value)
{
	show_id(ksp, statistic);
	(void)printf("%llu\n", value);
}

void
show_text(const kstat_t *ksp, const char *statistic, const char *text, size_t length)
{
	show_id(ksp, statistic);
	(void)printf("%.*s\n", (int)length, text);
}

void
show(const kstat_t *ksp, const kstat_named_t *named)
{
	switch (named->data_type) {
	case KSTAT_DATA_CHAR:
		show_text(ksp, named->name, named->value.c, sizeof(named->value.c));
		break;
	case KSTAT_DATA_STRING: /* the length counts the NUL; 0 belongs to a null pointer */
		if (KSTAT_NAMED_STR_BUFLEN(named) == 0)
			show_text(ksp, named->name, "", 0);
		else
			show_text(ksp, named->name, KSTAT_NAMED_STR_PTR(named), KSTAT_NAMED_STR_BUFLEN(named) - 1);
		break;
	case KSTAT_DATA_INT32:
		show_id(ksp, named->name);
		(void)printf("%d\n", (int)named->value.i32);
		break;
	case KSTAT_DATA_UINT32:
		show_number(ksp, named->name, named->value.ui32);
		break;
	case KSTAT_DATA_INT64:
		show_id(ksp, named->name);
		(void)printf("%lld\n", (longlong_t)named->value.i64);
		break;
	case KSTAT_DATA_UINT64:
		show_number(ksp, named->name, named->value.ui64);
		break;
	case KSTAT_DATA_FLOAT:
	case KSTAT_DATA_DOUBLE:
		break;
	default:
		fail("unknown type of data", named->name);
	}
}

void
show_io(const kstat_t *ksp, const kstat_io_t *io)
{
	show_number(ksp, "nread", io->nread);
	show_number(ksp, "nwritten", io->nwritten);
	show_number(ksp, "reads", io->reads);
	show_number(ksp, "writes", io->writes);
	show_number(ksp, "wtime", (u_longlong_t)io->wtime);
	show_number(ksp, "wlentime", (u_longlong_t)io->wlentime);
	show_number(ksp, "rtime", (u_longlong_t)io->rtime);
	show_number(ksp, "rlentime", (u_longlong_t)io->rlentime);
	show_number(ksp, "wcnt", io->wcnt);
	show_number(ksp, "rcnt", io->rcnt);
}

void
show_sum(const char *what, u_longlong_t value)
{
	(void)printf("sum %s\t%llu\n", what, value);
}

void
for_each(kstat_t *ksp, const char *names, void (*use)(kstat_t *, const char *))
{
	char name[KSTAT_STRLEN];
	size_t length;

	for (; *names != '\0'; names += length + (names[length] == '|')) {
		length = strcspn(names, "|");
		if (length >= sizeof(name))
			fail("too long", names);
		(void)memcpy(name, names, length);
		name[length] = '\0';
		use(ksp, name);
	}
}

static void
unchecked(kstat_t *ksp, const char *name)
{
	show_number(ksp, name, look(ksp, name)->value.ui64);
}

static void
present(kstat_t *ksp, const char *name)
{
	kstat_named_t *named = look(ksp, name);

	if (named != NULL)
		show(ksp, named);
}

static void
needed(kstat_t *ksp, const char *name)
{
	if (look(ksp, name) == NULL)
		fail("absent", name);
	present(ksp, name);
}

void
show_unchecked(kstat_t *ksp, const char *names)
{
	for_each(ksp, names, unchecked);
}

void
show_present(kstat_t *ksp, const char *names)
{
	for_each(ksp, names, present);
}

void
show_needed(kstat_t *ksp, const char *names)
{
	for_each(ksp, names, needed);
}

int
main(int argc, char **argv)
{
	const struct client *tables[6], *client;
	int i, found, argument;

	tables[0] = walk_clients;
	tables[1] = machine_clients;
	tables[2] = cpu_clients;
	tables[3] = disk_clients;
	tables[4] = net_clients;
	tables[5] = file_clients;
	for (i = 0; argc == 1 && i < 6; i++)
		for (client = tables[i]; client->name != NULL; client++)
			(void)printf("%s\n", client->name);
	for (argument = 1; argument < argc; argument++) {
		found = 0;
		for (i = 0; i < 6; i++) {
			for (client = tables[i]; client->name != NULL; client++) {
				if (strcmp(client->name, argv[argument]) != 0)
					continue;
				found = 1;
				if ((kc = kstat_open()) == NULL)
					fail(strerror(errno), "kstat_open");
				client->run();
				if (kstat_close(kc) != 0)
					fail(strerror(errno), "kstat_close");
			}
		}
		if (!found)
			fail("no such client", argv[argument]);
	}
	return (0);
}
