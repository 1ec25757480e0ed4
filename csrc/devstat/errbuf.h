/* errbuf.h - failing with a text in devstat_errbuf. SPDX-License-Identifier: MIT */
#ifndef DEVSTAT_ERRBUF_H
#define DEVSTAT_ERRBUF_H

/*
 * Sets errno to err, and devstat_errbuf (so also kstat_errmsg()) to the text, cut to its size.
 * Returns -1.
 */
int ks_devstat_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
