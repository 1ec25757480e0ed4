/*
 * recording.c - fuzzes the samples of a recording: the input is split into samples by a length byte
 * each, decoded one after the other into one state, and what they define is built.
 * SPDX-License-Identifier: MIT
 */
#include "model/histstat.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_store sample = { .text = KS_BUF_INIT, .most = 1 << 20 };
	struct ks_rec_state s = { .sample = &sample, .version = 1 + (unsigned)(size % KS_REC_VERSION) };
	struct ks_record r = KS_RECORD_INIT;

	while (size > 0) {
		size_t n = data[0] < size ? data[0] : size - 1;

		if (ks_rec_decode(&s, data + 1, n) != 0)
			break;
		for (size_t i = 0; i < sample.nkstats; i++) {
			ks_record_reset(&r);
			if (ks_store_read(&sample, &sample.kstat[i], &r) == 0 && sample.kstat[i].type == KSTAT_TYPE_NAMED)
				(void)ks_histstat_check(&r);
		}
		data += 1 + n;
		size -= 1 + n;
	}
	ks_record_free(&r);
	ks_rec_state_free(&s);
	ks_store_free(&sample);
	return 0;
}
