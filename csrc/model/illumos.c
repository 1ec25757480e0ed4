/* illumos.c - see illumos.h. SPDX-License-Identifier: MIT */
#include "model/illumos.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The first row whose three patterns match is the one. */
static const struct {
	const char *class_, *module, *name; /* '*' stands for any characters */
	const char *stats;
} records[] = {
	{ "kstat", "unix", "kstat_types",
	    "U raw,name=value,interrupt,i/o,event_timer" },
	{ "vm", "unix", "segmap",
	    "U fault,faulta,getmap,get_use,get_reclaim,get_reuse,get_unused,get_nofree,rel_async,"
	    "rel_write,rel_free,rel_abort,rel_dontneed,release,pagecreate,free_notfree,free_dirty,free,"
	    "stolen,get_nomtx" },
	{ "misc", "unix", "biostats",
	    "u buffer_cache_lookups,buffer_cache_hits,new_buffer_requests,waits_for_buffer_allocs,"
	    "buffers_locked_by_someone,duplicate_buffers_found" },
	{ "misc", "unix", "system_misc",
	    "u ncpus,lbolt,deficit,clk_intr,vac,nproc,avenrun_1min,avenrun_5min,avenrun_15min,"
	    "boot_time,nsec_per_tick" },
	{ "pages", "unix", "system_pages",
	    "U physmem,nalloc,nfree,nalloc_calls,nfree_calls,kernelbase,econtig,freemem,availrmem,"
	    "lotsfree,desfree,minfree,fastscan,slowscan,nscan,desscan,pp_kernel,pagesfree,pageslocked,"
	    "pagestotal,lowmemscan,nthrottle" },
	{ "misc", "unix", "dnlcstats",
	    "U hits,misses,negative_cache_hits,enters,double_enters,purge_total_entries,purge_all,"
	    "purge_vp,purge_vfs,purge_fs1,pick_free,pick_heuristic,pick_last,dir_hits,dir_misses,"
	    "dir_cached_current,dir_entries_cached_current,dir_cached_total,dir_start_no_memory,"
	    "dir_add_no_memory,dir_add_abort,dir_add_max,dir_remove_entry_fail,dir_remove_space_fail,"
	    "dir_update_fail,dir_fini_purge,dir_reclaim_last,dir_reclaim_any" },
	{ "misc", "unix", "pset",
	    "U updates,runnable,waiting|u ncpus,avenrun_1min,avenrun_5min,avenrun_15min" },
	{ "misc", "cpu", "sys",
	    "U cpu_ticks_idle,cpu_ticks_user,cpu_ticks_kernel,cpu_ticks_wait,cpu_nsec_idle,"
	    "cpu_nsec_user,cpu_nsec_kernel,cpu_nsec_dtrace,cpu_nsec_intr,cpu_load_intr,wait_ticks_io,"
	    "dtrace_probes,bread,bwrite,lread,lwrite,phread,phwrite,pswitch,trap,intr,syscall,sysread,"
	    "syswrite,sysfork,sysvfork,sysexec,readch,writech,rcvint,xmtint,mdmint,rawch,canch,outch,"
	    "msg,sema,namei,ufsiget,ufsdirblk,ufsipage,ufsinopage,procovf,intrthread,intrblk,intrunpin,"
	    "idlethread,inv_swtch,nthreads,cpumigrate,xcalls,mutex_adenters,rw_rdfails,rw_wrfails,"
	    "modload,modunload,bawrite,iowait" },
	{ "misc", "cpu", "vm",
	    "U pgrec,pgfrec,pgin,pgpgin,pgout,pgpgout,swapin,pgswapin,swapout,pgswapout,zfod,dfree,"
	    "scan,rev,hat_fault,as_fault,maj_fault,cow_fault,prot_fault,softlock,kernel_asflt,pgrrun,"
	    "execpgin,execpgout,execfree,anonpgin,anonpgout,anonfree,fspgin,fspgout,fsfree" },
	{ "misc", "cpu_info", "cpu_info*",
	    "c state|I state_begin|c cpu_type,fpu_type|I clock_MHz,chip_id|s implementation,brand|"
	    "I core_id|U current_clock_Hz|s supported_frequencies_Hz|I pg_id|s vendor_id|i family,"
	    "model,stepping,clog_id|I pkg_core_id|i ncpu_per_chip,ncore_per_chip,supported_max_cstates,"
	    "current_cstate,cache_id|s socket_type" },
	{ "misc", "cstate", "c*",
	    "s address_space_id|u latency,power" },
	{ "misc", "turbo", "turbo",
	    "u turbo_supported|U turbo_mcnt,turbo_acnt" },
	{ "pg", "pg", "pg",
	    "i id|s pg_class|u ncpus,instance_id|s hardware,policy" },
	{ "processor_group", "pg_hw_perf_cpu", "*",
	    "u cpu_id|i pg_id|u generation|U hw_util,hw_util_time_running,hw_util_time_stopped,"
	    "hw_util_rate,hw_util_rate_max|s relationship" },
	{ "processor_group", "pg_hw_perf", "*",
	    "i pg_id,parent_pg_id|u ncpus,generation|U hw_util,hw_util_time_running,"
	    "hw_util_time_stopped,hw_util_rate,hw_util_rate_max|s cpus,relationship" },
	{ "misc", "unix", "callout",
	    "I callout_timeouts,callout_timeouts_pending,callout_untimeouts_unexpired,"
	    "callout_untimeouts_executing,callout_untimeouts_expired,callout_expirations,"
	    "callout_allocations,callout_cleanups" },
	{ "misc", "unix", "cbstats",
	    "u asked,new,run,delete,maxreq,maxlist,alloc,runouts,L2,grow" },
	{ "misc", "acpi", "acpi",
	    "I S3,preferred_pm_profile" },
	{ "misc", "lgrp", "lgrp*",
	    "I lwp migrations,alloc fail,pages migrated from,pages migrated to,"
	    "pages failed to migrate to,pages failed to migrate from,pages marked for migration,"
	    "pages failed to mark,default policy,next-touch policy,random policy,span process policy,"
	    "span psrset policy,round robin policy,next-seg policy,cpus,pages free,pages avail,"
	    "pages installed,load average,loadscale" },
	{ "kmem_cache", "unix", "*",
	    "U buf_size,align,chunk_size,slab_size,alloc,alloc_fail,free,depot_alloc,depot_free,"
	    "depot_contention,slab_alloc,slab_free,buf_constructed,buf_avail,buf_inuse,buf_total,"
	    "buf_max,slab_create,slab_destroy,vmem_source,hash_size,hash_lookup_depth,hash_rescale,"
	    "full_magazines,empty_magazines,magazine_size,reap,defrag,scan,move_callbacks,move_yes,"
	    "move_no,move_later,move_dont_need,move_dont_know,move_hunt_found,move_slabs_freed,"
	    "move_reclaimable" },
	{ "vmem", "vmem", "*",
	    "U mem_inuse,mem_import,mem_total|u vmem_source|U alloc,free,wait,fail,lookup,search,"
	    "populate_wait,populate_fail,contains,contains_search" },
	{ "zone_misc", "zones", "*",
	    "s zonename|U nsec_user,nsec_sys,nsec_waitrq|u avenrun_1min,avenrun_5min,avenrun_15min,"
	    "forkfail_cap,forkfail_noproc,forkfail_nomem,forkfail_misc,nested_interp,init_pid|"
	    "U boot_time" },
	{ "zone_memory_cap", "memory_cap", "*",
	    "s zonename|U pgpgin,anonpgin,execpgin,fspgin,anon_alloc_fail" },
	{ "*_caps", "caps", "cpucaps_*",
	    "U value,usage,nwait,below_sec,above_sec,maxusage|s zonename" },
	{ "*_caps", "caps", "*",
	    "s zonename|U usage,value" },
	{ "zone_vfs", "zone_vfs", "*",
	    "s zonename" },
	{ "device_error", "cmdkerror", "cmdk*,error",
	    "u Soft Errors,Hard Errors,Transport Errors|c Model,Revision,Serial No|U Size|"
	    "u Media Error,Device Not Ready,No Device,Recoverable,Illegal Request" },
	{ "device_error", "blkdeverr", "blkdev*,err",
	    "u Soft Errors,Hard Errors,Transport Errors|s Model|c ,|s Revision,Serial No|U Size|"
	    "u Media Error,Device Not Ready,No Device,Recoverable,Illegal Request,"
	    "Predictive Failure Analysis" },
	{ "device_error", "sterr", "st*,err",
	    "U Soft Errors,Hard Errors,Transport Errors|c Vendor,Product,Revision,Serial No" },
	{ "device_error", "*err", "*,err",
	    "u Soft Errors,Hard Errors,Transport Errors|c Vendor,Product,Revision,Serial No|U Size|"
	    "u Media Error,Device Not Ready,No Device,Recoverable,Illegal Request,"
	    "Predictive Failure Analysis" },
	{ "misc", "unix", "vopstats_*",
	    "U nopen,nclose,nread,read_bytes,nwrite,write_bytes,nioctl,nsetfl,ngetattr,nsetattr,"
	    "naccess,nlookup,ncreate,nremove,nlink,nrename,nmkdir,nrmdir,nreaddir,readdir_bytes,"
	    "nsymlink,nreadlink,nfsync,ninactive,nfid,nrwlock,nrwunlock,nseek,ncmp,nfrlock,nspace,"
	    "nrealvp,ngetpage,nputpage,nmap,naddmap,ndelmap,npoll,ndump,npathconf,npageio,ndumpctl,"
	    "ndispose,nsetsecattr,ngetsecattr,nshrlock,nvnevent,nreqzcbuf,nretzcbuf" },
	{ "ufs", "ufs", "inode_cache",
	    "U size,maxsize,hits,misses,kmem allocs,kmem frees,maxsize reached,puts at frontlist,"
	    "puts at backlist,queues to free,scans,thread idles,lookup idles,vget idles,cache allocs,"
	    "cache frees,pushes at close" },
	{ "misc", "nfs", "nfs_server",
	    "U calls,badcalls,referrals,referlinks" },
	{ "misc", "nfs", "rfs*cnt_v2",
	    "U null,getattr,setattr,root,lookup,readlink,read,wrcache,write,create,remove,rename,link,"
	    "symlink,mkdir,rmdir,readdir,statfs" },
	{ "misc", "nfs_acl", "acl*cnt_v2",
	    "U null,getacl,setacl,getattr,access,getxattrdir" },
	{ "misc", "nfs", "rfs*cnt_v3",
	    "U null,getattr,setattr,lookup,access,readlink,read,write,create,mkdir,symlink,mknod,"
	    "remove,rmdir,rename,link,readdir,readdirplus,fsstat,fsinfo,pathconf,commit" },
	{ "misc", "nfs_acl", "acl*cnt_v3",
	    "U null,getacl,setacl,getxattrdir" },
	{ "misc", "nfs", "rfsreqcnt_v4",
	    "U null,compound,reserved,access,close,commit,create,delegpurge,delegreturn,getattr,getfh,"
	    "link,lock,lockt,locku,lookup,lookupp,nverify,open,openattr,open_confirm,open_downgrade,"
	    "putfh,putpubfh,putrootfh,read,readdir,readlink,remove,rename,renew,restorefh,savefh,"
	    "secinfo,setattr,setclientid,setclientid_confirm,verify,write" },
	{ "misc", "nfs", "rfsproccnt_v4",
	    "U null,compound,reserved,access,close,commit,create,delegpurge,delegreturn,getattr,getfh,"
	    "link,lock,lockt,locku,lookup,lookupp,nverify,open,openattr,open_confirm,open_downgrade,"
	    "putfh,putpubfh,putrootfh,read,readdir,readlink,remove,rename,renew,restorefh,savefh,"
	    "secinfo,setattr,setclientid,setclientid_confirm,verify,write,release_lockowner,illegal" },
	{ "misc", "nfs_acl", "acl*cnt_v4",
	    "U null,getacl,setacl" },
	{ "misc", "nfs", "nfs_client",
	    "U calls,badcalls,clgets,cltoomany" },
	{ "misc", "nfs", "nfs4_client",
	    "U calls,badcalls,referrals,referlinks,clgets,cltoomany" },
	{ "rpc", "unix", "rpc_clts_client",
	    "U calls,badcalls,retrans,badxids,timeouts,newcreds,badverfs,timers,nomem,cantsend" },
	{ "rpc", "unix", "rpc_client",
	    "U calls,badcalls,retrans,badxids,timeouts,newcreds,badverfs,timers,nomem,cantsend" },
	{ "rpc", "unix", "rpc_cots_client",
	    "U calls,badcalls,badxids,timeouts,newcreds,badverfs,timers,cantconn,nomem,interrupts" },
	{ "rpc", "unix", "rpc_rdma_client",
	    "U calls,badcalls,badxids,timeouts,newcreds,badverfs,timers,cantconn,nomem,interrupts,"
	    "longrpc" },
	{ "rpc", "unix", "rpc_rdma_server",
	    "U calls,badcalls,nullrecv,badlen,xdrcall,dupchecks,dupreqs,longrpcs,totalreplies,"
	    "totallongreplies,totalinlinereplies" },
	{ "rpc", "unix", "rpc_*_server",
	    "U calls,badcalls,nullrecv,badlen,xdrcall,dupchecks,dupreqs" },
	{ "rpc", "unix", "rpc_server",
	    "U calls,badcalls,nullrecv,badlen,xdrcall,dupchecks,dupreqs" },
	{ "rpc", "unix", "rpc_cots_connections",
	    "u write_queue|s server|u addr_family,device,time_stamp,status|i ref_count|u port" },
	{ "net", "link", "*",
	    "U ifspeed|u multircv,brdcstrcv,multixmt,brdcstxmt,norcvbuf,ierrors,noxmtbuf,oerrors,"
	    "collisions,rbytes,ipackets,obytes,opackets|U rbytes64,ipackets64,obytes64,opackets64|"
	    "u link_state,link_duplex,unknowns" },
	{ "net", "lo", "lo0",
	    "u ipackets,opackets" },
	{ "mib2", "ip", "ip",
	    "u forwarding,defaultTTL|U inReceives|u inHdrErrors,inAddrErrors|U forwDatagrams|"
	    "u inUnknownProtos,inDiscards|U inDelivers,outRequests|u outDiscards,outNoRoutes,"
	    "reasmTimeout,reasmReqds,reasmOKs,reasmFails,fragOKs,fragFails,fragCreates|i addrEntrySize,"
	    "routeEntrySize,netToMediaEntrySize|u routingDiscards,inErrs,noPorts,inCksumErrs,"
	    "reasmDuplicates,reasmPartDups,forwProhibits,udpInCksumErrs,udpInOverflows,"
	    "rawipInOverflows,ipsecInSucceeded|i ipsecInFailed,memberEntrySize|u inIPv6,outIPv6,"
	    "outSwitchIPv6" },
	{ "mib2", "ip", "icmp",
	    "u inMsgs,inErrors,inDestUnreachs,inTimeExcds,inParmProbs,inSrcQuenchs,inRedirects,inEchos,"
	    "inEchoReps,inTimestamps,inTimestampReps,inAddrMasks,inAddrMaskReps,outMsgs,outErrors,"
	    "outDestUnreachs,outTimeExcds,outParmProbs,outSrcQuenchs,outRedirects,outEchos,outEchoReps,"
	    "outTimestamps,outTimestampReps,outAddrMasks,outAddrMaskReps,inChksumErrs,inUnknowns,"
	    "inFragNeeded,outFragNeeded,outDrops,inOverFlows,inBadRedirects" },
	{ "mib2", "icmp", "rawip",
	    "u inDatagrams,inCksumErrs,inErrors,outDatagrams,outErrors" },
	{ "mib2", "tcp", "tcp",
	    "i rtoAlgorithm,rtoMin,rtoMax,maxConn|u activeOpens,passiveOpens,attemptFails,estabResets,"
	    "currEstab|U inSegs,outSegs|u retransSegs|i connTableSize|u outRsts,outDataSegs,"
	    "outDataBytes,retransBytes,outAck,outAckDelayed,outUrg,outWinUpdate,outWinProbe,outControl,"
	    "outFastRetrans,inAckSegs,inAckBytes,inDupAck,inAckUnsent,inDataInorderSegs,"
	    "inDataInorderBytes,inDataUnorderSegs,inDataUnorderBytes,inDataDupSegs,inDataDupBytes,"
	    "inDataPartDupSegs,inDataPartDupBytes,inDataPastWinSegs,inDataPastWinBytes,inWinProbe,"
	    "inWinUpdate,inClosed,rttUpdate,rttNoUpdate,timRetrans,timRetransDrop,timKeepalive,"
	    "timKeepaliveProbe,timKeepaliveDrop,listenDrop,listenDropQ0,halfOpenDrop,"
	    "outSackRetransSegs|i connTableSize6" },
	{ "mib2", "udp", "udp",
	    "U inDatagrams|u inErrors|U outDatagrams|i entrySize,entry6Size|u outErrors" },
	{ "interrupts", "pci_intrs", "*",
	    "c name,type|U cpu,pil,time,ino,cookie|s devpath,buspath" },
	{ "misc", "acpi_drv", "battery BIF*",
	    "u bif_unit,bif_design_cap,bif_last_cap,bif_tech,bif_voltage,bif_warn_cap,bif_low_cap,"
	    "bif_gran1_cap,bif_gran2_cap|s bif_model,bif_serial,bif_type,bif_oem_info" },
	{ "misc", "acpi_drv", "battery BST*",
	    "u bst_state,bst_rate,bst_rem_cap,bst_voltage" },
	{ "misc", "acpi_drv", "power",
	    "s system power|u supported_battery_count" },
	{ "misc", "acpi_drv", "battery warning",
	    "u enabled,warn capacity threshold,low capacity threshold" },
};

#define ROWS (sizeof(records) / sizeof(records[0]))

static bool
matches(const char *pattern, const char *text)
{
	for (; *pattern != '*'; pattern++, text++) {
		if (*pattern != *text)
			return false;
		if (*pattern == '\0')
			return true;
	}
	for (pattern++; *text != '\0'; text++) {
		if (matches(pattern, text))
			return true;
	}
	return *pattern == '\0';
}

/* The same, but most texts are told apart by their first characters. */
static bool
matches_soon(const char *pattern, const char *text)
{
	return (*pattern == *text || *pattern == '*') && matches(pattern, text);
}

/* Returns the number of the row of a kstat, or that of the rows if there is none. */
static size_t
row_of(const char *module, const char *name, const char *class_)
{
	size_t i = 0;

	while (i < ROWS && !(matches_soon(records[i].module, module) && matches_soon(records[i].name, name) &&
	    matches_soon(records[i].class_, class_)))
		i++;
	return i;
}

const char *
ks_illumos_stats(const char *module, const char *name, const char *class_)
{
	size_t i = row_of(module, name, class_);

	return i < ROWS ? records[i].stats : NULL;
}

int
ks_illumos_shape(const char *module, const char *name, const char *class_, const struct ks_shape **shape)
{
	static struct ks_shape *_Atomic shapes[ROWS];
	size_t i = row_of(module, name, class_);
	struct ks_shape *s = NULL, *theirs = NULL;

	*shape = i < ROWS ? atomic_load(&shapes[i]) : NULL;
	if (i == ROWS || *shape != NULL)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL || !ks_shape_add_list(s, records[i].stats)) {
		if (s != NULL)
			ks_shape_free(s);
		free(s);
		return ks_fail(ENOMEM, "out of memory");
	}
	*shape = s;
	if (!atomic_compare_exchange_strong(&shapes[i], &theirs, s)) {
		ks_shape_free(s);
		free(s);
		*shape = theirs;
	}
	return 0;
}

bool
ks_illumos_is_late(const char *driver, size_t n)
{
	static const char *const drivers[] = { "loop", "ram", "zram", "nbd" };

	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
		if (strlen(drivers[i]) == n && memcmp(drivers[i], driver, n) == 0)
			return true;
	}
	return false;
}
