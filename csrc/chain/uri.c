/* uri.c - finding a kstat by its kstat2 URI: kstat2_lookup_uri(). SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kstat2.h"

kstat_t *
kstat2_lookup_uri(kstat_ctl_t *kc, const char *uri)
{
	kstat2_path_t path;
	kstat_t *ksp;

	if (kstat2_parse_uri(uri, &path) != 0)
		return NULL;
	ksp = kstat_lookup(kc, path.p_module, path.p_instance, path.p_name);
	if (ksp != NULL && strcmp(ksp->ks_class, path.p_class) != 0)
		return ks_fail_null(ENOENT, "%s:%d:%s is of class %s, not %s", path.p_module,
		    path.p_instance, path.p_name, ksp->ks_class, path.p_class);
	return ksp;
}
