/*
 * public_details.c - what public functions promise beside the reference vectors, for
 * spec/core/public_details_spec.lua: each line has the name of a detail and what was found.
 * The argument is a capture with disks.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "devstat.h"
#include "statsblob.h"

/* Prints one statistic in both formats. */
static void
print_statistic(struct statsblob *blob, enum voi_stype stype, const char *name)
{
	struct voistatdata *data;
	enum vsd_dtype type;
	size_t size;

	if (stats_voistat_fetch_dptr(blob, 0, stype, &type, &data, &size) != 0)
		return;
	for (int fmt = SB_STRFMT_FREEFORM; fmt <= SB_STRFMT_JSON; fmt++) {
		struct sbuf *text = sbuf_new_auto();

		if (stats_voistatdata_tostr(data, VSD_DTYPE_INT_U32, type, size, (enum sb_str_fmt)fmt, text, 0) == 0)
			printf("%s %s %s\n", name, fmt == SB_STRFMT_JSON ? "json" : "freeform", sbuf_data(text));
		sbuf_delete(text);
	}
}

/* Prints the errors of calls that have one wrong argument each. */
static void
print_refusals(struct statsblob *blob)
{
	struct sbuf *text = sbuf_new_auto();
	struct voistatdata *data;
	enum vsd_dtype type;
	size_t size;

	if (stats_voistat_fetch_dptr(blob, 0, VS_STYPE_SUM, &type, &data, &size) != 0)
		return;
	printf("refused %d %d %d %d %d %zd\n",
	    stats_voistatdata_tostr(NULL, VSD_DTYPE_INT_U32, type, size, SB_STRFMT_JSON, text, 0) == EINVAL,
	    stats_voistatdata_tostr(data, VSD_DTYPE_INT_U32, type, size, SB_STRFMT_JSON, NULL, 0) == EINVAL,
	    stats_voistatdata_tostr(data, VSD_DTYPE_INT_U32, type, size, SB_STRFMT_NUM_FMTS, text, 0) == EINVAL,
	    stats_voistatdata_tostr(data, VSD_DTYPE_CRHIST32, type, size, SB_STRFMT_JSON, text, 0) == EINVAL,
	    stats_voistatdata_tostr(data, VSD_DTYPE_INT_U32, VSD_NUM_DTYPES, size, SB_STRFMT_JSON, text, 0) == EINVAL,
	    (ssize_t)sbuf_len(text));
	sbuf_delete(text);
}

static int
print_statsblob(void)
{
	struct voistatspec spec[] = { STATS_VSS_SUM(), STATS_VSS_CRHIST32_LIN(0, 20, 10, 0) };
	int tpl = stats_tpl_alloc("details", 0);
	struct statsblob *blob;

	if (tpl < 0 || stats_tpl_add_voistats((uint32_t)tpl, 0, "v", VSD_DTYPE_INT_U32, 2, spec, 0) != 0)
		return 1;
	blob = stats_blob_alloc((uint32_t)tpl, 0);
	if (blob == NULL || stats_voi_update_abs_u32(blob, 0, 15) != 0)
		return 1;
	print_statistic(blob, VS_STYPE_SUM, "sum");
	print_statistic(blob, VS_STYPE_HIST, "histogram");
	print_refusals(blob);
	stats_blob_destroy(blob);
	return 0;
}

/* A reader that finds the two sequence numbers equal has a whole copy. */
static void
print_sequences(void)
{
	struct devstat ds = { 0 };
	struct bintime now = { 1, 0 };

	devstat_start_transaction(&ds, &now);
	printf("start %u %u\n", (unsigned)ds.sequence0, (unsigned)ds.sequence1);
	devstat_end_transaction(&ds, 512, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, &now, NULL);
	printf("end %u %u\n", (unsigned)ds.sequence0, (unsigned)ds.sequence1);
}

/* Prints the names of the disks of a capture. */
static void
print_disks(const char *path)
{
	kstat_ctl_t *kc = kstat_open_capture(path);
	devstat_list_t *list = kc != NULL ? devstat_list_open(kc) : NULL;
	struct devinfo info = { 0 };
	struct statinfo stats = { .dinfo = &info };

	if (list == NULL || devstat_list_getdevs(list, &stats) < 0)
		return;
	for (int i = 0; i < info.numdevs; i++)
		printf("disk %s %d '%s'\n", info.devices[i].device_name, info.devices[i].unit_number,
		    info.devices[i].system_name);
	devstat_list_close(list);
	(void)kstat_close(kc);
}

/* Selects one device twice. Prints whether the selection changed. */
static void
print_selections(void)
{
	struct devstat device = { .device_name = "da", .device_number = 1 };
	struct device_selection *selections = NULL;
	int selected = 0, length = 0;
	long generation = 0;

	for (int i = 0; i < 2; i++)
		printf("selected %d\n", devstat_selectdevs(&selections, &selected, &length, &generation, 1, &device, 1,
		    NULL, 0, NULL, 0, DS_SELECT_ADD, 1, 0));
	devstat_free(selections);
}

/* Prints a histogram of discrete ranges that are generated, open at both ends. */
static void
print_ranges(void)
{
	struct voistatspec spec[] = {
		STATS_VSS_LIN_(VSD_DTYPE_DRHIST32, 10, 20, 5, VSD_HIST_LBOUND_INF | VSD_HIST_UBOUND_INF)
	};
	int tpl = stats_tpl_alloc("ranges", 0);
	struct statsblob *blob;

	if (tpl < 0 || stats_tpl_add_voistats((uint32_t)tpl, 0, "v", VSD_DTYPE_INT_U32, 1, spec, 0) != 0)
		return;
	blob = stats_blob_alloc((uint32_t)tpl, 0);
	if (blob == NULL)
		return;
	for (uint32_t v = 9; v < 12; v++)
		(void)stats_voi_update_abs_u32(blob, 0, v);
	print_statistic(blob, VS_STYPE_HIST, "ranges");
	stats_blob_destroy(blob);
}

/* Prints what appending to a text of three bytes returns: while there is room, where there is none, and then. */
static void
print_text(void)
{
	char room[4];
	struct sbuf text;
	int fits, does_not;

	if (sbuf_new(&text, room, sizeof(room), SBUF_FIXEDLEN) == NULL)
		return;
	fits = sbuf_bcat(&text, "ab", 2);
	does_not = sbuf_cat(&text, "cd");
	printf("text %d %d %d\n", fits, does_not, sbuf_cat(&text, ""));
	sbuf_delete(&text);
}

int
main(int argc, char **argv)
{
	int status;

	if (argc > 1)
		print_disks(argv[1]);

	print_sequences();
	print_text();
	status = print_statsblob();
	print_ranges();
	print_selections();
	return status;
}
