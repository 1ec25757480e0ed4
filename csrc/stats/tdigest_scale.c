/*
 * tdigest_scale.c - the scale functions of the t-digest as tables.
 * SPDX-License-Identifier: MIT
 *
 * A scale function k(q) says how finely the ranks near q are resolved. Ours grow with
 * dk/dq ~ q^-a (1-q)^-b: a coarse lower half, a middle, an upper tail that is as fine as
 * the k2 scale but needs no logarithm. Entry i is q at k = i/128, k being 0 at q = 0 and
 * 1 at q = 1; between entries q is interpolated. Digests of few centroids put nearly all
 * of them into the upper tail, others can afford a better middle.
 */
#include "stats/tdigest_impl.h"

const struct ks_tdgst_scale ks_tdgst_scales[2] = {
	{
		.a = 0.0, .b = 0.97, .integral = 33.33333333327,
		.q = {
			0x0000000000000000, 0x1d7284ef54195d00, 0x3446da27b9d77600,
			0x45f09a8e43667800, 0x5393e7da9f4b2000, 0x5e15f8079c5e7400,
			0x662a4994c9044000, 0x6c5d244ca86a7800, 0x711bf1f096e81400,
			0x74bbdc29480c4800, 0x777f0944ffc36800, 0x7998bee15bfea800,
			0x7b30a4a6c13a9400, 0x7c6554e55c659400, 0x7d4e602198fdf000,
			0x7dfde0e711f6b800, 0x7e81b78a1feb4c00, 0x7ee48078652d8800,
			0x7f2e53f6d24cd400, 0x7f655b07e6d57c00, 0x7f8e42cfc8f96800,
			0x7fac95ca3b9a8c00, 0x7fc30099acf17c00, 0x7fd386f7f6157c00,
			0x7fdfac5907812000, 0x7fe893082725f800, 0x7fef13eb0a678400,
			0x7ff3d09b74ade000, 0x7ff7412760391000, 0x7ff9be7c6b15cc00,
			0x7ffb8a4755e6fc00, 0x7ffcd4e2baf31800, 0x7ffdc1cc106c9800,
			0x7ffe6afa92890800, 0x7ffee35dd14f5400, 0x7fff38b93d425400,
			0x7fff750528796c00, 0x7fff9f740d160000, 0x7fffbd33462f0c00,
			0x7fffd1f8c4655000, 0x7fffe06ae07b0c00, 0x7fffea6c2ec8c400,
			0x7ffff152abac4400, 0x7ffff60fbd079400, 0x7ffff94d17f1a000,
			0x7ffffb818d1b0800, 0x7ffffcfff1c65000, 0x7ffffe01c574d800,
			0x7ffffeaec4455c00, 0x7fffff2243e1a800, 0x7fffff6efbc19800,
			0x7fffffa1ad14e000, 0x7fffffc2fe0d7c00, 0x7fffffd8c4a03c00,
			0x7fffffe6eb9bc000, 0x7ffffff01091c400, 0x7ffffff5f0261800,
			0x7ffffff9aff89400, 0x7ffffffc10d2d800, 0x7ffffffd908abc00,
			0x7ffffffe80c33400, 0x7fffffff161e1800, 0x7fffffff72527400,
			0x7fffffffaad4ac00, 0x7fffffffcd340000, 0x7fffffffe1f30000,
			0x7fffffffee5ef800, 0x7ffffffff5bf5800, 0x7ffffffffa173000,
			0x7ffffffffca01400, 0x7ffffffffe175800, 0x7ffffffffeee5400,
			0x7fffffffff684c00, 0x7fffffffffaccc00, 0x7fffffffffd2dc00,
			0x7fffffffffe7cc00, 0x7ffffffffff32c00, 0x7ffffffffff94800,
			0x7ffffffffffc8800, 0x7ffffffffffe3c00, 0x7fffffffffff1c00,
			0x7fffffffffff9000, 0x7fffffffffffc800, 0x7fffffffffffe400,
			0x7ffffffffffff400, 0x7ffffffffffffc00, 0x7ffffffffffffc00,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
			0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
		},
	},
	{
		.a = 0.3, .b = 0.88, .integral = 8.933907369868,
		.q = {
			0x0000000000000000, 0x01b3ff750b36edd0, 0x0488003e2ac183c0,
			0x07f86ff246b6d140, 0x0bd2c2f3ba67ff00, 0x0ff7350e27ffcd00,
			0x144ec1a2c07a4700, 0x18c7909e827bdc00, 0x1d534b3d94035400,
			0x21e63197f8326200, 0x26768a7babd8ac00, 0x2afc42c040f45200,
			0x2f70a7cfde1c3200, 0x33ce32e75a98d600, 0x38105f3bb5ce0000,
			0x3c33879c79f7ec00, 0x4034c97ad76f1400, 0x4411ec083e110800,
			0x47c94a78b9bfa000, 0x4b59c0e7f33ed400, 0x4ec29b625b790c00,
			0x520386c483ef4400, 0x551c833f22643c00, 0x580dd841959c6c00,
			0x5ad809a9b1192c00, 0x5d7bce275c942400, 0x5ffa0697ee202c00,
			0x6253b6611bc37400, 0x6489fca3ce0c5800, 0x669e0e37ec3de800,
			0x6891305bbaf5ac00, 0x6a64b411e75c8000, 0x6c19f20bfdb5a400,
			0x6db2472357918c00, 0x6f2f114ad52b9400, 0x7091acf28e3fbc00,
			0x71db72cc26b2c400, 0x730db5eb66e95000, 0x7429c234afaaf000,
			0x7530db166cd78c00, 0x76243a7c1ef7bc00, 0x77050ffff6ba6000,
			0x77d4804833213c00, 0x7893a492feff0400, 0x79438a6664c2f000,
			0x79e533636fdecc00, 0x7a799530f5fcc000, 0x7b019983c458e800,
			0x7b7e1e380e00c000, 0x7beff57c7ef85800, 0x7c57e60e47868000,
			0x7cb6ab7d7dc4e000, 0x7d0cf67d5e7bc400, 0x7d5b6d3ca247b800,
			0x7da2abc207264800, 0x7de3444e9b90cc00, 0x7e1dbfc2714adc00,
			0x7e529e03c1e78400, 0x7e82566684ec0400, 0x7ead58145b23e800,
			0x7ed40a7400d4e800, 0x7ef6cd8f0df52400, 0x7f15fa7658ae9400,
			0x7f31e3a4162c9c00, 0x7f4ad55b3b228000, 0x7f6116048bb71400,
			0x7f74e68802db1800, 0x7f8682a3bc97ac00, 0x7f96213ef74fbc00,
			0x7fa3f4ba1beb9000, 0x7fb02b3b37311400, 0x7fbaeef703c5a400,
			0x7fc46676865d9800, 0x7fccb4d943043800, 0x7fd3fa1416ef6000,
			0x7fda532cbc908c00, 0x7fdfda723b7e5000, 0x7fe4a7b1fcd51c00,
			0x7fe8d069e9918400, 0x7fec67f7ac3dc400, 0x7fef7fc4eb2c1400,
			0x7ff22770d52ebc00, 0x7ff46cf717ef0400, 0x7ff65cd4213d1c00,
			0x7ff80227220cf400, 0x7ff966d190501800, 0x7ffa93949259bc00,
			0x7ffb902c358dac00, 0x7ffc6368b03e2000, 0x7ffd1345b2752000,
			0x7ffda4ffec56a000, 0x7ffe1d28dc555c00, 0x7ffe7fb900f80c00,
			0x7ffed02084d52800, 0x7fff11567c01c000, 0x7fff45e6c9a94800,
			0x7fff6ffec3150800, 0x7fff9178a54eac00, 0x7fffabe5f1733400,
			0x7fffc098c2f51400, 0x7fffd0ac32bfa400, 0x7fffdd0bd8a14800,
			0x7fffe67a7ca45c00, 0x7fffed9808129000, 0x7ffff2e6c6590c00,
			0x7ffff6d0040b4400, 0x7ffff9a81ab0c800, 0x7ffffbb1f63c0800,
			0x7ffffd2221460c00, 0x7ffffe21639e8000, 0x7ffffecefec1d000,
			0x7fffff42927fa800, 0x7fffff8db3e81000, 0x7fffffbd3f891c00,
			0x7fffffda6faac400, 0x7fffffebbe57ac00, 0x7ffffff59a8acc00,
			0x7ffffffaf71cd800, 0x7ffffffdb986e400, 0x7fffffff0deadc00,
			0x7fffffffa5483c00, 0x7fffffffe22f8400, 0x7ffffffff7bf9800,
			0x7ffffffffe31b000, 0x7fffffffffb7fc00, 0x7ffffffffff97400,
			0x7fffffffffffc800, 0x8000000000000000, 0x8000000000000000,
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
ks_tdgst_cells(uint64_t total, size_t max)
{
	const uint64_t *tab = ks_tdgst_scale(max)->q;
	uint64_t one = (UINT64_C(1) << 63) / total, end = UINT64_C(128) << 32;
	struct ks_tdgst_cells cl = { td_target(max), 0, 0 };

	if (max >= KS_TDGST_ENDS) { /* without the least and the greatest sample */
		cl.n -= 2;
		cl.k = ks_tdgst_k_of(tab, one);
		end = ks_tdgst_k_of(tab, (UINT64_C(1) << 63) - one);
	}
	cl.step = (end - cl.k) / cl.n;
	return cl;
}
