/*
 * input.h - the text of a capture, piece by piece: a file or standard input of any size, plain or
 * compressed by gzip, which its contents show. illumos escapes "?", which is not valid JSON: that backslash
 * is removed. A backslash and the character that it escapes are always in the same piece.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_INPUT_H
#define SOURCE_REPLAY_CAPTURE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buf.h"

struct ks_capture_input {
	char *text; /* owned; the current piece */
	size_t len; /* its bytes */
	size_t pos; /* where in the piece the reader is */
	uint64_t base; /* where the piece starts in the whole (uncompressed) text */
	char before; /* the last byte of the previous piece; at the start a newline */
	struct ks_buf removed; /* size_t: places in the piece from which a backslash was removed */
	bool carry; /* the previous piece ended in a backslash, which starts the next one */
	int fd;
	bool sniffed, gzip, ended;
	bool in_member; /* inside a gzip member, of which a file may have several */
	z_stream z;
	unsigned char *packed; /* owned; compressed bytes */
};

/* Opens path ("-": standard input). 0, or -1 with errno; free it in either case. */
int ks_capture_input_open(struct ks_capture_input *in, const char *path);

/* Goes back to the first byte. 0, or -1 with errno ESPIPE: it is a pipe. */
int ks_capture_input_rewind(struct ks_capture_input *in);

void ks_capture_input_free(struct ks_capture_input *in);

/*
 * Replaces the piece, which must be used up, by the next one. 1 if there is one, 0 at the end,
 * -1 with errno and a message that does not name the file: EBADMSG damaged gzip data, or read(2)'s.
 */
int ks_capture_input_fill(struct ks_capture_input *in);

/* True if text[at] is the first byte of a line. */
static inline bool
ks_capture_input_starts_line(const struct ks_capture_input *in, size_t at)
{
	return (at > 0 ? in->text[at - 1] : in->before) == '\n';
}

/* Where the byte text[at] is in the whole text. */
uint64_t ks_capture_input_position(const struct ks_capture_input *in, size_t at);

#endif
