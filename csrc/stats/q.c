/* q.c - see q.h. SPDX-License-Identifier: MIT */
#include "stats/q.h"

#include <errno.h>

#include "base/number.h"
#include "stats/abi.h"

static const uint8_t q_choice[8] = { 2, 4, 6, 8, 16, 32, 48, 64 };

/* Bits of the magnitude, integer and fraction together. */
static unsigned
q_magbits(unsigned dt)
{
	return ks_dtypes[dt].size * 8u - 3u - (ks_dtypes[dt].is_signed ? 1u : 0u);
}

unsigned
ks_q_frac(unsigned dt, uint64_t word)
{
	unsigned f = q_choice[word & KS_Q_CTL], m = q_magbits(dt);

	return f < m ? f : m;
}

unsigned
ks_q_ctl(unsigned prec)
{
	unsigned ctl = 0;

	while (ctl < 7 && q_choice[ctl] < prec)
		ctl++;
	return ctl;
}

static uint64_t
q_magmask(unsigned dt)
{
	return (1ULL << q_magbits(dt)) - 1;
}

int64_t
ks_q_fix(unsigned dt, uint64_t word)
{
	int64_t mag = (int64_t)((word >> 3) & q_magmask(dt));

	if (ks_dtypes[dt].is_signed && ((word >> (ks_dtypes[dt].size * 8u - 1u)) & 1) != 0)
		return -mag;
	return mag;
}

bool
ks_q_word(unsigned dt, unsigned ctl, int64_t fix, uint64_t *word)
{
	bool neg = fix < 0;
	uint64_t mag = neg ? 0 - (uint64_t)fix : (uint64_t)fix, w;

	if (mag > q_magmask(dt) || (neg && !ks_dtypes[dt].is_signed))
		return false;
	w = mag << 3 | ctl;
	if (neg)
		w |= 1ULL << (ks_dtypes[dt].size * 8u - 1u);
	/* Words of 32-bit types travel as their types widen: by their sign. */
	if (ks_dtypes[dt].size == 4 && ks_dtypes[dt].is_signed)
		w = (uint64_t)(int64_t)(int32_t)(uint32_t)w;
	*word = w;
	return true;
}

uint64_t
ks_q_max(unsigned dt, unsigned ctl)
{
	uint64_t w = 0;

	(void)ks_q_word(dt, ctl, (int64_t)q_magmask(dt), &w);
	return w;
}

uint64_t
ks_q_min(unsigned dt, unsigned ctl)
{
	uint64_t w = ctl;

	if (ks_dtypes[dt].is_signed)
		(void)ks_q_word(dt, ctl, -(int64_t)q_magmask(dt), &w);
	return w;
}

uint64_t
ks_q_abi_max(unsigned dt, unsigned ctl)
{
	unsigned bits = ks_dtypes[dt].size * 8u - (ks_dtypes[dt].is_signed ? 1u : 0u);
	uint64_t max = bits == 64 ? UINT64_MAX : (1ULL << bits) - 1;

	return ((max >> 3) & ~(uint64_t)KS_Q_CTL) | ctl;
}

uint64_t
ks_q_abi_min(unsigned dt, unsigned ctl)
{
	if (!ks_dtypes[dt].is_signed)
		return ctl;
	/* The top four bits. */
	if (ks_dtypes[dt].size == 4)
		return (uint64_t)(int64_t)(int32_t)(0xf0000000u | ctl);
	return 0xf000000000000000ULL | ctl;
}

static int
cmp64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

int
ks_q_cmp(unsigned dt, uint64_t a, uint64_t b)
{
	unsigned fa = ks_q_frac(dt, a), fb = ks_q_frac(dt, b);
	int64_t xa = ks_q_fix(dt, a), xb = ks_q_fix(dt, b), ia, ib;
	int c;

	if (fa == fb)
		return cmp64(xa, xb);
	ia = xa / (int64_t)(1LL << fa);
	ib = xb / (int64_t)(1LL << fb);
	c = cmp64(ia, ib);
	return c != 0 ? c : cmp64(xa - ia * (1LL << fa), xb - ib * (1LL << fb));
}

int
ks_q_add(unsigned dt, uint64_t *sum, uint64_t v)
{
	if (((*sum ^ v) & KS_Q_CTL) != 0)
		return ERANGE;
	return ks_q_word(dt, (unsigned)(v & KS_Q_CTL), ks_q_fix(dt, *sum) + ks_q_fix(dt, v), sum) ? 0 : EOVERFLOW;
}

int
ks_q_copy(unsigned dt, uint64_t *to, uint64_t v)
{
	unsigned ft = ks_q_frac(dt, *to), fv = ks_q_frac(dt, v);
	int64_t x = ks_q_fix(dt, v);
	uint64_t mag = (uint64_t)(x < 0 ? -x : x);
	uint64_t ip = mag >> fv, fp = mag & ((1ULL << fv) - 1);
	int64_t fix;

	if ((fp >> ft) != 0 || ip > q_magmask(dt) >> ft)
		return EOVERFLOW;
	fix = (int64_t)(ip << ft | fp);
	return ks_q_word(dt, (unsigned)(*to & KS_Q_CTL), x < 0 ? -fix : fix, to) ? 0 : EOVERFLOW;
}

double
ks_q_double(unsigned dt, uint64_t word)
{
	return (double)ks_q_fix(dt, word) / (double)(1ULL << ks_q_frac(dt, word));
}

void
ks_q_print_fix(struct ks_buf *b, int64_t fix, unsigned frac)
{
	uint64_t mag = fix < 0 ? -(uint64_t)fix : (uint64_t)fix;
	uint64_t half = (1ULL << frac) / 2, f = mag & (2 * half - 1);
	char tmp[KS_NUMBER_MAX + 80];
	size_t n = 0;

	if (fix < 0)
		tmp[n++] = '-';
	n += ks_format_u64(tmp + n, mag >> frac);
	tmp[n++] = '.';
	for (unsigned i = 0; i < frac; i++) {
		/* Ten times the fraction may need 65 bits, five times does not. */
		f *= 5;
		tmp[n++] = (char)('0' + (int)(f / half));
		f = f % half * 2;
	}
	ks_buf_add(b, tmp, n);
}

void
ks_q_print(struct ks_buf *b, unsigned dt, uint64_t word)
{
	ks_q_print_fix(b, ks_q_fix(dt, word), ks_q_frac(dt, word));
}
