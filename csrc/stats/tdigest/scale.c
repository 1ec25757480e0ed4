/*
 * scale.c - the scale functions of the t-digest as tables.
 * SPDX-License-Identifier: MIT
 *
 * A scale function k(q) says how finely the ranks near q are resolved. Ours grow with
 * dk/dq ~ q^-a (1-q)^-b: a coarse lower half, a middle, an upper tail that is nearly as
 * fine as the k2 scale but needs no logarithm. Entry i is q at k = i/128, k being 0 at
 * q = 0 and 1 at q = 1; between entries q is interpolated. a and b, one pair for digests
 * of fewer than 40 centroids and one for others, were found by trying: in the range where
 * nothing else changes much they are those with which the rank error on each of the
 * reference's 50 data sets is at most that of a plain digest.
 */
#include "stats/tdigest/impl.h"

const struct ks_tdgst_scale ks_tdgst_scales[2] = {
	{
		.a = 0.19, .b = 0.97, .integral = 24.69826471,
		.q = {
			0x0000000000000000, 0x0c44ef4c5dca9c00, 0x1ae8298c1f4fc000,
			0x2919f3de06df3800, 0x361bfcd2f1a5f800, 0x41ad6f531ea27800,
			0x4bc4eb123eb0f000, 0x547446cc6c5e0c00, 0x5bda579ea575bc00,
			0x621b21a35b2f7800, 0x675b737cfb59fc00, 0x6bbe7a06e8377800,
			0x6f64811f4e24d400, 0x726a69e991347000, 0x74e98d2f18f06400,
			0x76f7dbfa6e8d4000, 0x78a82199126f5800, 0x7a0a55060a29b400,
			0x7b2beebcb62bf000, 0x7c183c743690a000, 0x7cd8af2b06d24000,
			0x7d7521c0d09b0000, 0x7df4178206c8b400, 0x7e5af2b8cedb3400,
			0x7eae23badaff6400, 0x7ef1511f154fd800, 0x7f2779da61fde000,
			0x7f5312047c11d800, 0x7f761afcc0e11000, 0x7f923797d326a000,
			0x7fa8bced6d5b1000, 0x7fbac04bb9d39400, 0x7fc922c40a422800,
			0x7fd49ab49fa6c400, 0x7fddbba49e37d000, 0x7fe4fcba54e73800,
			0x7feabe08bf8cd000, 0x7fef4ce765c70400, 0x7ff2e77f64b20000,
			0x7ff5bfb155308400, 0x7ff7fd71c05b5c00, 0x7ff9c0b4c2c1fc00,
			0x7ffb22fd428fa400, 0x7ffc38a08dc6c400, 0x7ffd11cc41cd0000,
			0x7ffdbb59e624b400, 0x7ffe3f799a2e7400, 0x7ffea63b84b02800,
			0x7ffef5fe4e50c800, 0x7fff33c7c9802000, 0x7fff638bf7844000,
			0x7fff8865d3185800, 0x7fffa4c4a5889800, 0x7fffba902562f000,
			0x7fffcb4530726800, 0x7fffd80c99804800, 0x7fffe1cd39ab7800,
			0x7fffe93a3a0ff400, 0x7fffeede5a878c00, 0x7ffff324d373b800,
			0x7ffff66051173400, 0x7ffff8d06dab7000, 0x7ffffaa5faeef400,
			0x7ffffc065b7c9400, 0x7ffffd0e1f0a9400, 0x7ffffdd30a206800,
			0x7ffffe65a95ec800, 0x7ffffed289b82400, 0x7fffff2329992c00,
			0x7fffff5eb2bd1000, 0x7fffff8a89066400, 0x7fffffaab808e000,
			0x7fffffc246d22c00, 0x7fffffd377d63000, 0x7fffffdff9937800,
			0x7fffffe90b7dcc00, 0x7fffffef99ef3800, 0x7ffffff4533f0400,
			0x7ffffff7b7a17800, 0x7ffffffa2511a400, 0x7ffffffbe03bb400,
			0x7ffffffd1b238800, 0x7ffffffdfa174800, 0x7ffffffe975a7000,
			0x7fffffff05dbd400, 0x7fffffff53351400, 0x7fffffff8921fc00,
			0x7fffffffae935400, 0x7fffffffc8773400, 0x7fffffffda4aa400,
			0x7fffffffe6830400, 0x7fffffffeeda1000, 0x7ffffffff4849000,
			0x7ffffffff8596000, 0x7ffffffffaed7000, 0x7ffffffffca77800,
			0x7ffffffffdcdfc00, 0x7ffffffffe913800, 0x7fffffffff11f400,
			0x7fffffffff666000, 0x7fffffffff9d7000, 0x7fffffffffc12400,
			0x7fffffffffd82800, 0x7fffffffffe6e800, 0x7ffffffffff04c00,
			0x7ffffffffff63c00, 0x7ffffffffff9f800, 0x7ffffffffffc5000,
			0x7ffffffffffdc000, 0x7ffffffffffea400, 0x7fffffffffff3000,
			0x7fffffffffff8400, 0x7fffffffffffb800, 0x7fffffffffffd400,
			0x7fffffffffffe800, 0x7ffffffffffff000, 0x7ffffffffffff800,
			0x7ffffffffffffc00, 0x7ffffffffffffc00, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
		},
	},
	{
		.a = -0.01, .b = 0.94, .integral = 15.43788087,
		.q = {
			0x0000000000000000, 0x0f06f54fe8f45400, 0x1c380ed70435c000,
			0x27e6c4199595c800, 0x3242ebb7f26c4400, 0x3b7370babff9fc00,
			0x4399c7749231ac00, 0x4ad3463e95846800, 0x5139e3e3d144e800,
			0x56e4b707c5658c00, 0x5be8557f0fab4c00, 0x605720a0cd1be400,
			0x644184eece5a1800, 0x67b63092b1ebd000, 0x6ac242cc27384800,
			0x6d7175b0bc420400, 0x6fce433242988000, 0x71e206205c1e2400,
			0x73b517b01414d800, 0x754ee9f789023400, 0x76b61fb936f8b000,
			0x77f0a1ca77ce6400, 0x7903b256ac462000, 0x79f3fe37527de000,
			0x7ac5ac92b445ac00, 0x7b7c6cecb1beac00, 0x7c1b83d0b2440400,
			0x7ca5d63783462000, 0x7d1df3c8480b2800, 0x7d862010c43d0400,
			0x7de05ace4628c800, 0x7e2e675e4284e400, 0x7e71d36b5c50bc00,
			0x7eabfce9d1e35c00, 0x7ede17744bc2cc00, 0x7f093118b17d6800,
			0x7f2e36a30b24e000, 0x7f4df773469ffc00, 0x7f6928e97434b800,
			0x7f8069730b217400, 0x7f944342c11c8000, 0x7fa52ebb9fa14800,
			0x7fb394972e3ae800, 0x7fbfcfcdcf18ec00, 0x7fca2f47bb822400,
			0x7fd2f75c6e526000, 0x7fda6325beb38c00, 0x7fe0a5ab6696c800,
			0x7fe5eaeb3bbd0400, 0x7fea58c1f35d1000, 0x7fee0fb7e8295800,
			0x7ff12bb4fea85c00, 0x7ff3c49e740fd400, 0x7ff5eee119284c00,
			0x7ff7bbea383afc00, 0x7ff93a912885fc00, 0x7ffa77735ae6a400,
			0x7ffb7d447a0d5400, 0x7ffc55140bf26400, 0x7ffd0689da0ed000,
			0x7ffd981a41b5b000, 0x7ffe0f336d5dd400, 0x7ffe70645a7c4800,
			0x7ffebf7e755c8400, 0x7ffeffb27cf18800, 0x7fff33a94ba08000,
			0x7fff5d990f4e6400, 0x7fff7f576a42e400, 0x7fff9a68e7976800,
			0x7fffb00e20b4bc00, 0x7fffc14ee59fe400, 0x7fffcf03af79a800,
			0x7fffd9dd9b60b800, 0x7fffe26d23c74400, 0x7fffe927c7283000,
			0x7fffee6cc4bc1c00, 0x7ffff28912482c00, 0x7ffff5baa9492800,
			0x7ffff8334581bc00, 0x7ffffa1aab40d400, 0x7ffffb90887d1800,
			0x7ffffcae0117a400, 0x7ffffd86f42ac000, 0x7ffffe2b06320000,
			0x7ffffea67a09d400, 0x7fffff02e136a000, 0x7fffff47aa8de800,
			0x7fffff7a95378400, 0x7fffffa00d039c00, 0x7fffffbb743d9000,
			0x7fffffcf5e702400, 0x7fffffddbef6e400, 0x7fffffe80db86400,
			0x7fffffef63f95800, 0x7ffffff492de3000, 0x7ffffff834e5b800,
			0x7ffffffabb68f800, 0x7ffffffc78f8ac00, 0x7ffffffda9462000,
			0x7ffffffe7722b400, 0x7fffffff01045c00, 0x7fffffff5c66ac00,
			0x7fffffff984ce000, 0x7fffffffbf1b1c00, 0x7fffffffd7efec00,
			0x7fffffffe79eb400, 0x7ffffffff1636400, 0x7ffffffff7623400,
			0x7ffffffffb019000, 0x7ffffffffd289800, 0x7ffffffffe6a3800,
			0x7fffffffff226000, 0x7fffffffff89b000, 0x7fffffffffc26000,
			0x7fffffffffe0bc00, 0x7ffffffffff09800, 0x7ffffffffff8a400,
			0x7ffffffffffc9c00, 0x7ffffffffffe7c00, 0x7fffffffffff5c00,
			0x7fffffffffffbc00, 0x7fffffffffffe800, 0x7ffffffffffff800,
			0x7ffffffffffffc00, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
		},
	},
};

uint64_t
ks_tdgst_k_of(const uint64_t *tab, uint64_t q)
{
	size_t lo = 0, hi = 128, mid;
	uint64_t num, den;
	unsigned shift;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (tab[mid] <= q)
			lo = mid;
		else
			hi = mid;
	}
	num = q - tab[lo];
	den = tab[hi] - tab[lo];
	if (den >> 31 != 0) { /* 31 bits of it are enough */
		shift = 33 - (unsigned)__builtin_clzll(den);
		num >>= shift;
		den >>= shift;
	}
	return ((uint64_t)lo << 32) + (den != 0 ? (num << 32) / den : 0);
}

struct ks_tdgst_cells
ks_tdgst_cells(uint64_t total, size_t max, uint64_t kept)
{
	const uint64_t *tab = ks_tdgst_scale(max)->q;
	uint64_t one = (UINT64_C(1) << 63) / total, end = UINT64_C(128) << 32;
	struct ks_tdgst_cells cl = { td_target(max), 0, 0 };

	if (max >= KS_TDGST_LARGE && total < KS_TDGST_MANY)
		cl.n = max * 9 / 16;
	if (max >= KS_TDGST_ENDS) { /* without the least sample and those kept, or the greatest */
		cl.n -= kept > 0 ? 1 : 2;
		cl.k = ks_tdgst_k_of(tab, one);
		end = ks_tdgst_k_of(tab, (UINT64_C(1) << 63) - one * (kept > 0 ? kept : 1));
	}
	cl.step = (end - cl.k) / cl.n;
	return cl;
}
