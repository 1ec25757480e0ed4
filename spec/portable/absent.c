/*
 * absent.c - what libkstat uses of PCRE2, yajl and zlib, for programs on machines that lack them: each function
 * fails. Regular expressions, captures and recordings are not there then. SPDX-License-Identifier: MIT
 */
#include <stddef.h>

/* The callers know the parameters and types of the real functions. */
#define NO_OBJECT(name) void *name(void); void *name(void) { return NULL; }
#define NO_SUCCESS(name) long name(void); long name(void) { return -1; }

NO_OBJECT(pcre2_compile_8)
NO_OBJECT(pcre2_match_context_create_8)
NO_OBJECT(pcre2_match_data_create_from_pattern_8)
NO_OBJECT(pcre2_get_ovector_pointer_8)
NO_SUCCESS(pcre2_code_free_8)
NO_SUCCESS(pcre2_get_error_message_8)
NO_SUCCESS(pcre2_jit_compile_8)
NO_SUCCESS(pcre2_match_8)
NO_SUCCESS(pcre2_match_context_free_8)
NO_SUCCESS(pcre2_match_data_free_8)
NO_SUCCESS(pcre2_pattern_info_8)
NO_SUCCESS(pcre2_set_match_limit_8)
NO_SUCCESS(pcre2_substring_number_from_name_8)

NO_OBJECT(yajl_alloc)
NO_OBJECT(yajl_get_error)
NO_SUCCESS(yajl_config)
NO_SUCCESS(yajl_free)
NO_SUCCESS(yajl_free_error)
NO_SUCCESS(yajl_get_bytes_consumed)
NO_SUCCESS(yajl_parse)

NO_SUCCESS(crc32_z)
NO_SUCCESS(deflate)
NO_SUCCESS(deflateEnd)
NO_SUCCESS(deflateInit2_)
NO_SUCCESS(deflateReset)
NO_SUCCESS(inflate)
NO_SUCCESS(inflateCopy)
NO_SUCCESS(inflateEnd)
NO_SUCCESS(inflateInit2_)
NO_SUCCESS(inflateReset)
