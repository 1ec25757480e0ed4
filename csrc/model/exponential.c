/* exponential.c - see exponential.h. SPDX-License-Identifier: MIT */
#include "model/exponential.h"

#include <math.h>

/*
 * root[j] is floor(2^63 * 2^(j/256)): eight integer square roots of 2^(63*256 + j). No power of two but j = 0 is a
 * whole number, so that a 64-bit mantissa is above the power exactly if it is above this floor. Behind them are two
 * that no mantissa is above.
 */
static const uint64_t root[256 + 2] = {
	0x8000000000000000, 0x8058d7d2d5e5f6b0, 0x80b1ed4fd999ab6c, 0x810b40a1d81406d4,
	0x8164d1f3bc030773, 0x81bea1708dde6055, 0x8218af4373fc25eb, 0x8272fb97b2a5894c,
	0x82cd8698ac2ba1d7, 0x83285071e0fc4546, 0x8383594eefb6ee36, 0x83dea15b9541b132,
	0x843a28c3acde4046, 0x8495efb3303efd2f, 0x84f1f656379c1a29, 0x854e3cd8f9c8c95d,
	0x85aac367cc487b14, 0x86078a2f23642a9f, 0x8664915b923fba03, 0x86c1d919caef5c87,
	0x871f61969e8d1010, 0x877d2afefd4e256c, 0x87db357ff698d791, 0x88398146b919f1d4,
	0x88980e8092da8527, 0x88f6dd5af155ac6b, 0x8955ee03618e5fdc, 0x89b540a7902557a3,
	0x8a14d575496efd9a, 0x8a74ac9a79896e46, 0x8ad4c6452c728924, 0x8b3522a38e1e1031,
	0x8b95c1e3ea8bd6e6, 0x8bf6a434adde0084, 0x8c57c9c4646f4ddd, 0x8cb932c1bae97a95,
	0x8d1adf5b7e5ba9e5, 0x8d7ccfc09c50e2f7, 0x8ddf042022e69cd5, 0x8e417ca940e35a01,
	0x8ea4398b45cd53c0, 0x8f073af5a2013520, 0x8f6a8117e6c8e5c4, 0x8fce0c21c6726481,
	0x9031dc431466b1dc, 0x9095f1abc540ca6b, 0x90fa4c8beee4b12a, 0x915eed13c89689d3,
	0x91c3d373ab11c336, 0x9228ffdc10a051ac, 0x928e727d9531f9ac, 0x92f42b88f673aa7c,
	0x935a2b2f13e6e92b, 0x93c071a0eef94bc0, 0x9426ff0fab1c04b6, 0x948dd3ac8ddb7ed3,
	0x94f4efa8fef70961, 0x955c5336887894d5, 0x95c3fe86d6cc7fee, 0x962bf1cbb8d9755f,
	0x96942d3720185a00, 0x96fcb0fb20ac4ba2, 0x97657d49f17ab08e, 0x97ce9255ec4357ab,
	0x9837f0518db8a96f, 0x98a1976f7597e995, 0x990b87e266c189a9, 0x9975c1dd47518c77,
	0x99e0459320b7fa64, 0x9a4b13371fd166ca, 0x9ab62afc94ff864a, 0x9b218d16f441d63c,
	0x9b8d39b9d54e5538, 0x9bf93118f3aa4cc1, 0x9c6573682ec32c2d, 0x9cd200db8a0774ca,
	0x9d3ed9a72cffb750, 0x9dabfdff6367a2a9, 0x9e196e189d472420, 0x9e872a276f0b98ff,
	0x9ef5326091a111ad, 0x9f6386f8e28ba650, 0x9fd228256400dd05, 0xa041161b3d0121bd,
	0xa0b0510fb9714fc2, 0xa11fd9384a344cf7, 0xa18faeca8544b6e3, 0xa1ffd1fc25cea188,
	0xa27043030c496818, 0xa2e102153e918f9e, 0xa3520f68e802bb92, 0xa3c36b345991b47b,
	0xa43515ae09e6809e, 0xa4a70f0c95768ec4, 0xa5195786be9ef339, 0xa58bef536dbeb6ed,
	0xa5fed6a9b15138ea, 0xa6720dc0be08a20b, 0xa6e594cfeee86b1d, 0xa7596c0ec55ff55b,
	0xa7cd93b4e9653569, 0xa8420bfa298f70d1, 0xa8b6d5167b320e08, 0xa92bef41fa77771b,
	0xa9a15ab4ea7c0ef8, 0xaa1717a7b5693979, 0xaa8d2652ec907629, 0xab0386ef48868de0,
	0xab7a39b5a93ed337, 0xabf13edf162675e8, 0xac6896a4be3fe929, 0xace0413ff83e5d03,
	0xad583eea42a14ac6, 0xadd08fdd43d01491, 0xae493452ca35b80e, 0xaec22c84cc5c9465,
	0xaf3b78ad690a4374, 0xafb51906e75b8661, 0xb02f0dcbb6e04583, 0xb0a957366fb7a3c9,
	0xb123f581d2ac258f, 0xb19ee8e8c94feb08, 0xb21a31a66618fe3b, 0xb295cff5e47db4a3,
	0xb311c412a9112489, 0xb38e0e38419fae17, 0xb40aaea2654b9840, 0xb487a58cf4a9c180,
	0xb504f333f9de6484, 0xb58297d3a8b9f0d1, 0xb60093a85ed5f76b, 0xb67ee6eea3b22b8f,
	0xb6fd91e328d17791, 0xb77c94c2c9d725e8, 0xb7fbefca8ca41e7c, 0xb87ba337a1743833,
	0xb8fbaf4762fb9ee9, 0xb97c143756844dbe, 0xb9fcd2452c0b9dea, 0xba7de9aebe5fea08,
	0xbaff5ab2133e45fb, 0xbb81258d5b704b6f, 0xbc034a7ef2e9fb0c, 0xbc85c9c560e7b269,
	0xbd08a39f580c36be, 0xbd8bd84bb67ed482, 0xbe0f6809860993e2, 0xbe935317fc378237,
	0xbf1799b67a731082, 0xbf9c3c248e2486f8, 0xc0213aa1f0d08db0, 0xc0a6956e8836ca8c,
	0xc12c4cca66709456, 0xc1b260f5ca0fbb33, 0xc238d2311e3d6672, 0xc2bfa0bcfad907c8,
	0xc346ccda24976407, 0xc3ce56c98d21b15d, 0xc4563ecc5334cb32, 0xc4de8523c2c07baa,
	0xc5672a115506dadd, 0xc5f02dd6b0bbc3d9, 0xc67990b5aa245f79, 0xc70352f04336c51d,
	0xc78d74c8abb9b15c, 0xc817f681416452b2, 0xc8a2d85c8ffe2c45, 0xc92e1a9d517f0ecb,
	0xc9b9bd866e2f27a2, 0xca45c15afcc72623, 0xcad2265e4290774d, 0xcb5eecd3b38597c8,
	0xcbec14fef2727c5c, 0xcc799f23d11510e5, 0xcd078b86503dcdd1, 0xcd95da6a9ff06444,
	0xce248c151f8480e3, 0xceb3a0ca5dc6a55d, 0xcf4318cf191918c1, 0xcfd2f4683f94eeb5,
	0xd06333daef2b2594, 0xd0f3d76c75c5db8c, 0xd184df6251699ac6, 0xd2164c023056bcab,
	0xd2a81d91f12ae45a, 0xd33a5457a3029054, 0xd3ccf099859ac379, 0xd45ff29e0972c560,
	0xd4f35aabcfedfa1f, 0xd5872909ab75d189, 0xd61b5dfe9f9bce06, 0xd6aff9d1e13ba2fd,
	0xd744fccad69d6af4, 0xd7da67311797f569, 0xd870394c6db32c84, 0xd9067364d44a929b,
	0xd99d15c278afd7b5, 0xda3420adba4d8704, 0xdacb946f2ac9cc71, 0xdb63714f8e295255,
	0xdbfbb797daf23755, 0xdc9467913a4f1c91, 0xdd2d818508324c20, 0xddc705bcd378f7f0,
	0xde60f4825e0e9123, 0xdefb4e1f9d1037f1, 0xdf9612deb8f04420, 0xe031430a0d99e627,
	0xe0ccdeec2a94e111, 0xe168e6cfd3295d23, 0xe2055afffe83d368, 0xe2a23bc7d7d91225,
	0xe33f8972be8a5a51, 0xe3dd444c46499618, 0xe47b6ca0373da88d, 0xe51a02ba8e26d680,
	0xe5b906e77c8348a8, 0xe658797368b3a716, 0xe6f85aaaee1fce22, 0xe798aadadd5b9cbe,
	0xe8396a503c4bdc68, 0xe8da9958464b42aa, 0xe97c38406c4f8c56, 0xea1e4756550eb27b,
	0xeac0c6e7dd24392e, 0xeb63b7431736983f, 0xec0718b64c1cbddc, 0xecaaeb8ffb03ab40,
	0xed4f301ed9942b84, 0xedf3e6b1d418a491, 0xee990f980da3025b, 0xef3eab20e032bc6b,
	0xefe4b99bdcdaf5cb, 0xf08b3b58cbe8b76a, 0xf13230a7ad094509, 0xf1d999d8b7708cc1,
	0xf281773c59ffb139, 0xf329c9233b6bae9c, 0xf3d28fde3a641a5a, 0xf47bcbbe6db9fdde,
	0xf5257d152486cc2c, 0xf5cfa433e6537290, 0xf67a416c733f846d, 0xf7255510c4288238,
	0xf7d0df730ad13bb8, 0xf87ce0e5b2094d9b, 0xf92959bb5dd4ba74, 0xf9d64a46eb939f35,
	0xfa83b2db722a033a, 0xfb3193cc4227c3f4, 0xfbdfed6ce5f09c48, 0xfc8ec01121e447bb,
	0xfd3e0c0cf486c174, 0xfdedd1b496a89f34, 0xfe9e115c7b8f884b, 0xff4ecb59511ec8a5,
	UINT64_MAX, UINT64_MAX
};

/* The least mantissa whose upper eight bits (the leading one aside) are k is above k + ahead[k] of the roots. */
static const uint8_t ahead[256] = {
	0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9,
	10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 16, 16,
	16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 20, 20, 20, 20,
	20, 20, 20, 20, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22, 22, 22,
	22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 22,
	22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 21, 21,
	21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 20, 20, 20, 20, 20, 20, 20, 20, 20, 19, 19, 19, 19, 19,
	19, 19, 19, 18, 18, 18, 18, 18, 18, 18, 17, 17, 17, 17, 17, 17, 17, 16, 16, 16, 16, 16, 16, 15,
	15, 15, 15, 15, 14, 14, 14, 14, 14, 14, 13, 13, 13, 13, 13, 12, 12, 12, 12, 12, 11, 11, 11, 11,
	10, 10, 10, 10, 10, 9, 9, 9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 7, 6, 6, 6, 6, 5, 5,
	5, 5, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1
};

int32_t
ks_exponential_index(uint64_t v, uint32_t scale)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(v);
	uint64_t mantissa = v << zeros;
	uint32_t cell = (uint32_t)(mantissa >> 55) & 255;
	uint32_t j = cell + ahead[cell];

	/* Between two cells lie at most two roots. */
	j += (uint32_t)(mantissa > root[j]) + (uint32_t)(mantissa > root[j + 1]);
	return ((int32_t)((63 - zeros) * 256 + j) - 1) >> (KS_EXPONENTIAL_MOST_SCALE - scale);
}

uint64_t
ks_exponential_floor(int32_t i, uint32_t scale)
{
	int32_t n = i * (1 << (KS_EXPONENTIAL_MOST_SCALE - scale));

	if (n < 0)
		return 0;
	return n < 64 * 256 ? root[n % 256] >> (63 - n / 256) : UINT64_MAX;
}

double
ks_exponential_power(int32_t i, uint32_t scale)
{
	int32_t n = i * (1 << (KS_EXPONENTIAL_MOST_SCALE - scale));

	return ldexp((double)root[n & 255], (n >> 8) - 63);
}
