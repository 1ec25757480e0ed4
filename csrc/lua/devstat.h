/* devstat.h - what the files of kstat.core.devstat share. SPDX-License-Identifier: MIT */
#ifndef LUA_DEVSTAT_H
#define LUA_DEVSTAT_H

#define KS_LUA_DEVICE "kstat.devstat.device" /* a struct devstat */

#endif
