/*
 * recording.c - fuzzes the samples of a recording: the input is split into samples by a length byte
 * each, decoded one after the other into one state, and what they define is built. Then the same samples are the frames
 * of a file, in which a replay goes to and fro. The time in a sample is anything here, and need not be that of its
 * frame, by which it is found.
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
length(const uint8_t *data, size_t size)
{
	return data[0] < size ? data[0] : size - 1;
}

static void
decode(const uint8_t *data, size_t size)
{
	struct ks_store sample = { .text = KS_BUF_INIT, .most = 1 << 20 };
	struct ks_rec_state s = { .sample = &sample, .version = 1 + (unsigned)(size % KS_REC_VERSION) };
	struct ks_record r = KS_RECORD_INIT;

	while (size > 0) {
		size_t n = length(data, size);

		if (ks_rec_decode(&s, data + 1, n) != 0)
			break;
		for (size_t i = 0; i < sample.nkstats; i++) {
			ks_record_reset(&r);
			(void)ks_store_read(&sample, &sample.kstat[i], &r);
		}
		data += 1 + n;
		size -= 1 + n;
	}
	ks_record_free(&r);
	ks_rec_state_free(&s);
	ks_store_free(&sample);
}

/* Goes to times, back and on, as the input says. */
static void
move(const char *path, const uint8_t *data, size_t size)
{
	kstat_ctl_t *kc = kstat_open_capture(path);

	for (size_t i = 0; kc != NULL && i < size && i < 64; i++) {
		int64_t time = data[i] * KS_NANOSEC;

		if (data[i] % 4 == 0)
			(void)ks_chain_previous(kc, &(unsigned){ 1 + data[i] / 4 % 3 });
		else if (data[i] % 4 == 1)
			(void)ks_chain_step(kc);
		else
			(void)kstat_replay_seek(kc, &time);
		for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next)
			(void)kstat_read(kc, k, NULL);
	}
	if (kc != NULL)
		(void)kstat_close(kc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;
	struct ks_rec_writer w;
	enum ks_rec_kind kind = KS_REC_KEY;
	int failed;

	decode(data, size);
	failed = ks_rec_writer_open(&w, NULL);
	while (!failed && at < end) {
		size_t n = length(at, (size_t)(end - at));
		struct ks_buf sample = KS_BUF_INIT;

		ks_buf_add(&sample, n > 0 ? at + 1 : at, n > 0 ? n : 1); /* a sample is never empty */
		failed = sample.failed || ks_rec_writer_pack(&w, kind, at[n] * KS_NANOSEC, &sample) != 0 ||
		    ks_rec_writer_put(&w, (struct ks_rec_input){ 0 }) != 0;
		ks_buf_free(&sample);
		kind = (enum ks_rec_kind)(at[n] % 3);
		at += 1 + n;
	}
	if (!failed) {
		move(w.path, data, size);
		/* A byte of the file is wrong, or its end is missing. */
		if (size > 2 && data[1] % 2 == 0)
			(void)pwrite(w.fd, data, 1, (off_t)(data[1] * 256 + data[2]) % w.size);
		else if (size > 2)
			(void)ftruncate(w.fd, (off_t)(data[1] * 256 + data[2]) % w.size);
		move(w.path, data, size);
	}
	ks_rec_writer_close(&w);
	return 0;
}
