/* sys/sbuf.h - FreeBSD's path of the sbuf(9) functions in statsblob.h. SPDX-License-Identifier: MIT */
#include <statsblob.h>
