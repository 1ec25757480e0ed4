/*
 * statsblob_vss.h - the constructors of statistics, STATS_VSS_*() and HBKTS(), for a template's table of
 * struct voistatspec. statsblob.h includes it.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATSBLOB_VSS_H
#define STATSBLOB_VSS_H

#include "statsblob.h"

/* The constructors are variadic macros, which C90 lacks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wvariadic-macros"

/* The constructors need C or C++11; in C++98 statistics are specified by hand. */
#if !defined(__cplusplus) || __cplusplus >= 201103L
#ifndef __cplusplus
#define STATS_VSS_(st, dt, fn, ...) \
	{ .stype = (st), .vs_dtype = (dt), .hlpr = (fn), .hlprinfo = (__VA_ARGS__) }
#define STATS_VSS_QINFO_(p) \
	(struct vss_hlpr_info *)&(struct vss_numeric_hlpr_info){ .prec = (p) }
#define STATS_VSS_TDGSTINFO_(n, p) \
	(struct vss_hlpr_info *)&(struct vss_tdgst_hlpr_info){ .nctds = (n), .prec = (p) }
#define STATS_VSS_HISTINFO_(sch, l, u, fl, ...)                                          \
	(struct vss_hlpr_info *)&(struct vss_hist_hlpr_info){ .scheme = (sch),           \
		.flags = (fl), .lb = (uint64_t)(l), .ub = (uint64_t)(u), __VA_ARGS__ }
#define STATS_VSS_LININFO_(l, u, inc, fl) \
	STATS_VSS_HISTINFO_(BKT_LIN, l, u, fl, .lin = { (uint64_t)(inc) })
#define STATS_VSS_EXPINFO_(l, u, base, ex, fl) \
	STATS_VSS_HISTINFO_(BKT_EXP, l, u, fl, .exp = { (uint64_t)(base), (uint64_t)(ex) })
#define STATS_VSS_LINEXPINFO_(l, u, n, base, fl) \
	STATS_VSS_HISTINFO_(BKT_LINEXP, l, u, fl, .linexp = { (uint64_t)(n), (uint64_t)(base) })
#define STATS_VSS_USRINFO_(bk, fl) \
	STATS_VSS_HISTINFO_(BKT_USR, 0, 0, fl, .usr = { (bk), sizeof(bk) / sizeof((bk)[0]) })
#define HBKTS(...) ((const struct vss_hist_bkt[]){ __VA_ARGS__ })
#else
/*
 * C++ has no compound literals that live as long as the block. So each place in the program where a
 * constructor is written keeps what the constructor points to, for the thread, until it is evaluated again.
 */
#define STATS_VSS_(st, dt, fn, ...) { (fn), (__VA_ARGS__), nullptr, 0, 0, (dt), (st) }
#define STATS_VSS_KEEP_(...)                                                             \
	([](const stats_vss_info &given) {                                               \
		static thread_local stats_vss_info kept;                                 \
		kept = given;                                                            \
		return kept.pointer();                                                   \
	}(stats_vss_info(__VA_ARGS__)))
#define STATS_VSS_QINFO_(p) STATS_VSS_KEEP_(KSTAT_CAST_(uint32_t, p))
#define STATS_VSS_TDGSTINFO_(n, p) STATS_VSS_KEEP_(KSTAT_CAST_(uint32_t, n), KSTAT_CAST_(uint32_t, p))
#define STATS_VSS_LININFO_(l, u, inc, fl) STATS_VSS_KEEP_(BKT_LIN, fl, l, u, inc, 0)
#define STATS_VSS_EXPINFO_(l, u, base, ex, fl) STATS_VSS_KEEP_(BKT_EXP, fl, l, u, base, ex)
#define STATS_VSS_LINEXPINFO_(l, u, n, base, fl) STATS_VSS_KEEP_(BKT_LINEXP, fl, l, u, n, base)
#define STATS_VSS_USRINFO_(bk, fl) STATS_VSS_KEEP_(bk, fl)
#define HBKTS(...) (std::initializer_list<struct vss_hist_bkt>{ __VA_ARGS__ })
#endif

#define STATS_VSS_NUMERIC_(st, ...) \
	STATS_VSS_(st, VSD_DTYPE_VOISTATE, &stats_vss_numeric_hlpr, __VA_ARGS__)
#define STATS_VSS_SUM() STATS_VSS_NUMERIC_(VS_STYPE_SUM, NULL)
#define STATS_VSS_MAX() STATS_VSS_NUMERIC_(VS_STYPE_MAX, NULL)
#define STATS_VSS_MIN() STATS_VSS_NUMERIC_(VS_STYPE_MIN, NULL)
/* Extension: the same for Q VOIs, with prec fractional bits. */
#define STATS_VSS_QSUM(prec) STATS_VSS_NUMERIC_(VS_STYPE_SUM, STATS_VSS_QINFO_(prec))
#define STATS_VSS_QMAX(prec) STATS_VSS_NUMERIC_(VS_STYPE_MAX, STATS_VSS_QINFO_(prec))
#define STATS_VSS_QMIN(prec) STATS_VSS_NUMERIC_(VS_STYPE_MIN, STATS_VSS_QINFO_(prec))

#define STATS_VSS_HIST_(dt, ...) \
	STATS_VSS_(VS_STYPE_HIST, dt, &stats_vss_hist_hlpr, __VA_ARGS__)
#define STATS_VSS_LIN_(dt, l, u, inc, fl) STATS_VSS_HIST_(dt, STATS_VSS_LININFO_(l, u, inc, fl))
#define STATS_VSS_EXP_(dt, l, u, base, ex, fl) \
	STATS_VSS_HIST_(dt, STATS_VSS_EXPINFO_(l, u, base, ex, fl))
#define STATS_VSS_LINEXP_(dt, l, u, n, base, fl) \
	STATS_VSS_HIST_(dt, STATS_VSS_LINEXPINFO_(l, u, n, base, fl))
#define STATS_VSS_USR_(dt, bk, fl) STATS_VSS_HIST_(dt, STATS_VSS_USRINFO_(bk, fl))

/*
 * Histograms with generated continuous ranges: the first bound is lb, and each further one is a step
 * above the one before, as long as the bound is <= ub. LIN: the step is stepinc. EXP: the i-th step is
 * stepbase^(stepexp+i). LINEXP: each power of stepbase is divided into nlinsteps. For Q VOIs lb and ub
 * are Q words, steps whole units.
 */
#define STATS_VSS_CRHIST32_LIN(lb, ub, stepinc, vsdflags) \
	STATS_VSS_LIN_(VSD_DTYPE_CRHIST32, lb, ub, stepinc, vsdflags)
#define STATS_VSS_CRHIST64_LIN(lb, ub, stepinc, vsdflags) \
	STATS_VSS_LIN_(VSD_DTYPE_CRHIST64, lb, ub, stepinc, vsdflags)
#define STATS_VSS_CRHIST32_EXP(lb, ub, stepbase, stepexp, vsdflags) \
	STATS_VSS_EXP_(VSD_DTYPE_CRHIST32, lb, ub, stepbase, stepexp, vsdflags)
#define STATS_VSS_CRHIST64_EXP(lb, ub, stepbase, stepexp, vsdflags) \
	STATS_VSS_EXP_(VSD_DTYPE_CRHIST64, lb, ub, stepbase, stepexp, vsdflags)
#define STATS_VSS_CRHIST32_LINEXP(lb, ub, nlinsteps, stepbase, vsdflags) \
	STATS_VSS_LINEXP_(VSD_DTYPE_CRHIST32, lb, ub, nlinsteps, stepbase, vsdflags)
#define STATS_VSS_CRHIST64_LINEXP(lb, ub, nlinsteps, stepbase, vsdflags) \
	STATS_VSS_LINEXP_(VSD_DTYPE_CRHIST64, lb, ub, nlinsteps, stepbase, vsdflags)

/*
 * Histograms with the caller's buckets: HBKTS(CRBKT(0), CRBKT(10)). The last bucket whose
 * range holds the value counts it. CR: values from lb on. DR: lb <= value < ub. DV: one value.
 */
#define CRBKT(lb) { KSTAT_CAST_(uint64_t, lb), KSTAT_CAST_(uint64_t, lb) }
#define DRBKT(lb, ub) { KSTAT_CAST_(uint64_t, lb), KSTAT_CAST_(uint64_t, ub) }
#define DVBKT(val) { KSTAT_CAST_(uint64_t, val), KSTAT_CAST_(uint64_t, val) }
#define STATS_VSS_CRHIST32_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_CRHIST32, bkts, vsdflags)
#define STATS_VSS_CRHIST64_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_CRHIST64, bkts, vsdflags)
#define STATS_VSS_DRHIST32_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DRHIST32, bkts, vsdflags)
#define STATS_VSS_DRHIST64_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DRHIST64, bkts, vsdflags)
#define STATS_VSS_DVHIST32_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DVHIST32, bkts, vsdflags)
#define STATS_VSS_DVHIST64_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DVHIST64, bkts, vsdflags)

/*
 * A t-digest of nctds centroids: quantiles of any distribution (stats_voi_quantile()) in 16 or 24
 * bytes a centroid. Its means are fixed-point numbers: prec is rounded up to 2, 4, 6, 8, 16, 32,
 * 48 or 64 bits of fraction; fraction and value have 28 bits together (TDGSTCLUST32), or 60. An update with
 * a greater value returns EOVERFLOW; the VOI's other statistics include the value.
 *
 *	prec up to       2     4     6     8     16    32    48    64
 *	TDGSTCLUST32     2^26  2^24  2^22  2^20  2^12  1     1     1     values are below this
 *	TDGSTCLUST64     2^58  2^56  2^54  2^52  2^44  2^28  2^12  1
 *
 * Whole numbers need no fraction; a few bits (4) make means smoother. stats_tdgst_error_bound() says how
 * exact quantiles are. Fewer than about 10 centroids are of no use (with 1 or 2 every quantile is the mean),
 * and 20 are a sensible minimum; 100 is the usual choice.
 *
 * The upper tail is the most exact part, because latencies are asked for there. With 100 centroids and
 * 200,000 lognormal samples the rank of the answer was off by 0.002 % of the samples at p99 and p90, by
 * 0.03 % at p50, 0.02 % at p10 and 0.005 % at p1.
 */
#define STATS_VSS_TDGST_(dt, n, p) \
	STATS_VSS_(VS_STYPE_TDGST, dt, &stats_vss_tdgst_hlpr, STATS_VSS_TDGSTINFO_(n, p))
#define STATS_VSS_TDGSTCLUST32(nctds, prec) STATS_VSS_TDGST_(VSD_DTYPE_TDGSTCLUST32, nctds, prec)
#define STATS_VSS_TDGSTCLUST64(nctds, prec) STATS_VSS_TDGST_(VSD_DTYPE_TDGSTCLUST64, nctds, prec)
#endif /* C or C++11 */

#pragma GCC diagnostic pop

#if defined(__cplusplus) && __cplusplus >= 201103L
#include <initializer_list>
#include <vector>

/* What the STATS_VSS_*() constructors point to. */
class stats_vss_info {
public:
	stats_vss_info() = default;
	explicit stats_vss_info(uint32_t prec) { numeric.prec = prec; }
	stats_vss_info(uint32_t nctds, uint32_t prec) : which(TDGST)
	{
		tdgst.nctds = nctds;
		tdgst.prec = prec;
	}
	template <class L, class U, class A, class B>
	stats_vss_info(enum hist_bkt_alloc scheme, uint32_t flags, L lb, U ub, A a, B b) : which(HIST)
	{
		hist.scheme = scheme;
		hist.flags = flags;
		hist.lb = static_cast<uint64_t>(lb);
		hist.ub = static_cast<uint64_t>(ub);
		/* LIN has one parameter, the others have two. */
		if (scheme == BKT_LIN) {
			hist.lin.stepinc = static_cast<uint64_t>(a);
		} else if (scheme == BKT_EXP) {
			hist.exp.stepbase = static_cast<uint64_t>(a);
			hist.exp.stepexp = static_cast<uint64_t>(b);
		} else {
			hist.linexp.nlinsteps = static_cast<uint64_t>(a);
			hist.linexp.stepbase = static_cast<uint64_t>(b);
		}
	}
	stats_vss_info(std::initializer_list<struct vss_hist_bkt> list, uint32_t flags)
	    : which(HIST), bkts(list)
	{
		hist.scheme = BKT_USR;
		hist.flags = flags;
	}
	struct vss_hlpr_info *pointer()
	{
		if (which == NUMERIC)
			return reinterpret_cast<struct vss_hlpr_info *>(&numeric);
		if (which == TDGST)
			return reinterpret_cast<struct vss_hlpr_info *>(&tdgst);
		if (hist.scheme == BKT_USR) {
			hist.usr.bkts = bkts.data();
			hist.usr.nbkts = bkts.size();
		}
		return reinterpret_cast<struct vss_hlpr_info *>(&hist);
	}

private:
	enum { NUMERIC, HIST, TDGST } which = NUMERIC;
	struct vss_numeric_hlpr_info numeric = {};
	struct vss_hist_hlpr_info hist = {};
	struct vss_tdgst_hlpr_info tdgst = {};
	std::vector<struct vss_hist_bkt> bkts;
};
#endif

#endif
