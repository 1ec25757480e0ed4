/* sys/sbuf.h - FreeBSD's path of the sbuf(9) functions in statsblob.h. SPDX-License-Identifier: MIT */
#ifndef SYS_SBUF_H
#define SYS_SBUF_H
#include <statsblob.h>
#endif
