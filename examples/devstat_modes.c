/*
 * devstat_modes.c - the four modes in which devstat_selectdevs() selects devices, of the machine, or of what
 * $KSTAT_SOURCE names; as examples/devstat_modes.lua.
 *
 *     cc examples/devstat_modes.c $(pkg-config --cflags --libs kstat) -o devstat_modes && ./devstat_modes [NAME]
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <devstat.h>

/* Prints the devices that a mode selects, in the order to show them. Returns 0, or 1 with a line. */
static int
show(const char *word, devstat_select_mode mode, struct devinfo *list, char **names)
{
	struct device_selection *chosen = NULL;
	int selected = 0, n = 0;
	long generation = 0;
	char name[KSTAT_STRLEN];

	/* A removal starts from everything. */
	if ((mode == DS_SELECT_REMOVE && devstat_selectdevs(&chosen, &selected, &n, &generation, list->generation,
	    list->devices, list->numdevs, NULL, 0, NULL, 0, DS_SELECT_ADD, list->numdevs, 0) == -1) ||
	    devstat_selectdevs(&chosen, &selected, &n, &generation, list->generation, list->devices, list->numdevs, NULL,
	    0, names, 1, mode, list->numdevs + 1, 0) == -1) {
		(void)fprintf(stderr, "devstat_modes: %s\n", devstat_errbuf);
		return 1;
	}
	(void)printf("%s\t", word);
	for (int place = 1, left = selected; left > 0 && place <= list->numdevs; place++) {
		for (int i = 0; i < n; i++) {
			if (chosen[i].selected == place)
				(void)printf("%s%s", left-- < selected ? " " : "",
				    devstat_devname(&list->devices[chosen[i].position], name));
		}
	}
	(void)printf("\n");
	devstat_free(chosen);
	return 0;
}

int
main(int argc, char **argv)
{
	struct devinfo list = { 0 };
	struct statinfo now = { .dinfo = &list };
	char first[KSTAT_STRLEN];
	char *names[] = { argc > 1 ? argv[1] : first };
	int failed;

	if (devstat_getdevs(NULL, &now) == -1 || list.numdevs == 0) {
		(void)fprintf(stderr, "devstat_modes: %s\n", list.numdevs == 0 ? "no devices" : devstat_errbuf);
		return 1;
	}
	(void)devstat_devname(&list.devices[0], first);
	failed = show("add", DS_SELECT_ADD, &list, names) || show("only", DS_SELECT_ONLY, &list, names) ||
	    show("remove", DS_SELECT_REMOVE, &list, names) || show("addonly", DS_SELECT_ADDONLY, &list, names);
	devstat_freedevs(&list);
	return failed;
}
