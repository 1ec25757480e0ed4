/*
 * scale.c - the scale functions of the t-digest as tables.
 * SPDX-License-Identifier: MIT
 *
 * A scale function k(q) says how finely the ranks near q are resolved. The functions here grow with
 *
 *	dk/dq ~ q^-a (1-q)^-b + c (q (1-q))^-1/2
 *
 * The first term gives an upper tail that is nearly as fine as that of the k2 scale, without its
 * logarithm. The second term is the k1 scale: it resolves the lower tail and the middle. Entry i of a
 * table is q at k = i/128, where k is 0 at q = 0 and 1 at q = 1; between entries q is interpolated.
 * Digests of fewer than 40 centroids have a table of their own, without the second term. a, b and c were
 * found by measuring rank errors: those of the large digests are, below the median, at most those of a k1
 * digest of as many centroids, and above it a quarter of them or less (bench/tdigest.c).
 */
#include "stats/tdigest/bytes.h"
#include "stats/tdigest/scale.h"

const struct ks_tdgst_scale ks_tdgst_scales[2] = {
	{
		.a = 0.19, .b = 0.97, .c = 0, .integral = 24.69826471,
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
		.a = 0, .b = 0.94, .c = 2.5, .integral = 23.30736432,
		.q = {
			0x0000000000000000, 0x002ad1701b086018, 0x00a8a76329b6f790, 0x017576ae6c585840,
			0x028d11c1b2a3fce0, 0x03eb2eee9100a6e0, 0x058b6e86754b3e80, 0x076960ca6f121880,
			0x09808ba2d087fb00, 0x0bcc701b6eac0d80, 0x0e488f95f3cec000, 0x10f070caaf05f600,
			0x13bfa46fa1acbe00, 0x16b1c99b314fe100, 0x19c291eae6541b00, 0x1cedc549804b4e00,
			0x202f45751f054400, 0x23831150b85b2c00, 0x26e547b5adf1c800, 0x2a522a4051d89800,
			0x2dc61f97bddd5c00, 0x313db59af79cb800, 0x34b5a3301ad43200, 0x382ac9dcf6151400,
			0x3b9a371aa4766800, 0x3f0125695b212800, 0x425cfd2d30d6de00, 0x45ab55485e77ce00,
			0x48e9f3853779b400, 0x4c16ccc3c0d0c400, 0x4f3004fd26a25e00, 0x5233ef0aa04c5a00,
			0x55210c4ab89f0600, 0x57f60c1129301600, 0x5ab1caf2896c7800, 0x5d5351e792693800,
			0x5fd9d54bc8b25400, 0x6244b3b93e52b100, 0x649374c4b04a6400, 0x66c5c79c1d099b00,
			0x68db81839b460300, 0x6ad49c432b38ef00, 0x6cb1346b36d4db00, 0x6e718791f8521200,
			0x7015f26e05e9ac00, 0x719eeee6edfb0380, 0x730d1208818e0280, 0x746109ed547e1000,
			0x759b9b914255a300, 0x76bda099e813c100, 0x77c8050d9c70af00, 0x78bbc500df397b00,
			0x7999ea37b16c0840, 0x7a6389bfd74fa000, 0x7b19c18560a83a40, 0x7bbdb5e52159b180,
			0x7c508f41740fba00, 0x7cd3779d45aba200, 0x7d4798424b715640, 0x7dae1779028d8b80,
			0x7e0816591d04f940, 0x7e56aeb85388c5d0, 0x7e9af14001d6ba20, 0x7ed5e3b0956b8260,
			0x7f087f58f3b463d8, 0x7f33afc9dcb4cc80, 0x7f5851c892a402c8, 0x7f77328670135c18,
			0x7f910f1e483c87a8, 0x7fa6945842f0da50, 0x7fb85eb1f7ddf244, 0x7fc6faa6dd2adf42,
			0x7fd2e532bc9c0562, 0x7fdc8c86c70ae4ae, 0x7fe450e818e7a28c, 0x7fea85ae2fc38ec4,
			0x7fef725747345c2e, 0x7ff353a90c11115e, 0x7ff65cd49e5d34bd, 0x7ff8b89606629b1e,
			0x7ffa8a487eeda50f, 0x7ffbeeea675e7bcf, 0x7ffcfe0d20d8237d, 0x7ffdcaae7ba99b7c,
			0x7ffe63fa92bdcf58, 0x7ffed5f5fe9625b2, 0x7fff2a111d54e153, 0x7fff67a5cc8fb775,
			0x7fff94615bbb0c15, 0x7fffb49cbcf11604, 0x7fffcba512cfe407, 0x7fffdbf6b6136078,
			0x7fffe76cb44e5ebe, 0x7fffef66a1bcfbf6, 0x7ffff4e6680b2861, 0x7ffff8a7887ab7d0,
			0x7ffffb3113f38d32, 0x7ffffce36a30e1ee, 0x7ffffe02a3b974f2, 0x7ffffebe61b1f638,
			0x7fffff379b1cd715, 0x7fffff84e0d2dca7, 0x7fffffb57810c0c1, 0x7fffffd3967bcd8f,
			0x7fffffe5f96d790a, 0x7ffffff104a845b5, 0x7ffffff789c34bad, 0x7ffffffb51246ea4,
			0x7ffffffd76d9ff06, 0x7ffffffea8aadbc3, 0x7fffffff4ef58802, 0x7fffffffa72e0968,
			0x7fffffffd4bf9567, 0x7fffffffeb9c9bf6, 0x7ffffffff6b99d00, 0x7ffffffffbf142ff,
			0x7ffffffffe4cc6c8, 0x7fffffffff522d83, 0x7fffffffffbe31ee, 0x7fffffffffe88ab3,
			0x7ffffffffff8301d, 0x7ffffffffffd97c9, 0x7fffffffffff5264, 0x7fffffffffffd3ee,
			0x7ffffffffffff61c, 0x7ffffffffffffe16, 0x7fffffffffffffb1, 0x7ffffffffffffff6,
			0x8000000000000000,
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
ks_tdgst_cells(uint64_t total, size_t max, uint64_t kept, size_t target)
{
	const uint64_t *tab = ks_tdgst_scale(max)->q;
	uint64_t one = (UINT64_C(1) << 63) / total, end = UINT64_C(128) << 32;
	struct ks_tdgst_cells cl = { target, 0, 0 };

	if (max >= KS_TDGST_ENDS) { /* without the least sample and those kept, or the greatest */
		cl.n -= kept > 0 ? 1 : 2;
		cl.k = ks_tdgst_k_of(tab, one);
		end = ks_tdgst_k_of(tab, (UINT64_C(1) << 63) - one * (kept > 0 ? kept : 1));
	}
	cl.step = (end - cl.k) / cl.n;
	return cl;
}
