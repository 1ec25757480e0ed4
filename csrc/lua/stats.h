/* stats.h - what the files of the statsblob binding share. SPDX-License-Identifier: MIT */
#ifndef LUA_STATS_H
#define LUA_STATS_H

#include <lua.h>
#include <stdint.h>

#include "statsblob.h"

#define KS_LUA_BLOB "kstat.blob"

#endif
