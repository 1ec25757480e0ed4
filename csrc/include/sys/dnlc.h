/*
 * sys/dnlc.h - the Solaris header of struct ncstats, the data of unix:0:ncstats (see kstat_raw.h), and of struct
 * nc_stats, the data of unix:0:dnlcstats as illumos orders it. SPDX-License-Identifier: MIT
 */
#ifndef SYS_DNLC_H
#define SYS_DNLC_H
#include <kstat.h>
#include <kstat_raw.h>

struct nc_stats {
	kstat_named_t ncs_hits, ncs_misses, ncs_neg_hits, ncs_enters, ncs_dbl_enters, ncs_purge_total, ncs_purge_all,
	    ncs_purge_vp, ncs_purge_vfs, ncs_purge_fs1, ncs_pick_free, ncs_pick_heur, ncs_pick_last, ncs_dir_hits,
	    ncs_dir_misses, ncs_cur_dirs, ncs_dir_num_ents, ncs_dirs_cached, ncs_dir_start_nm, ncs_dir_add_nm,
	    ncs_dir_addabort, ncs_dir_add_max, ncs_dir_reme_fai, ncs_dir_rems_fai, ncs_dir_upd_fail, ncs_dir_finipurg,
	    ncs_dir_rec_last, ncs_dir_recl_any;
};
#endif
