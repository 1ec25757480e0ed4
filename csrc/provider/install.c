/* install.c - kstat_create(9F), kstat_install(9F) and kstat_delete(9F). SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/record.h"
#include "provider/segment/segment.h"

kstat_t *
kstat_create(const char *ks_module, int ks_instance, const char *ks_name, const char *ks_class,
    uchar_t ks_type, uint_t ks_ndata, uchar_t ks_flags)
{
	struct ks_provider *p = ks_provider_new(ks_module, ks_instance, ks_name, ks_class, ks_type,
	    ks_ndata, ks_flags);
	struct ks_provider *dormant;

	if (p == NULL)
		return NULL;
	dormant = ks_registry_revive(p);
	if (dormant != NULL || errno != ENOENT) {
		ks_provider_free(p);
		return dormant != NULL ? &dormant->ks : NULL;
	}
	if (!(ks_flags & KSTAT_FLAG_VIRTUAL)) {
		p->ks.ks_data = calloc(1, p->ks.ks_data_size == 0 ? 1 : p->ks.ks_data_size);
		p->owns_data = true;
		if (p->ks.ks_data == NULL) {
			ks_provider_free(p);
			return ks_fail_null(ENOMEM, "out of memory for the data of a kstat");
		}
	}
	if (ks_registry_add(p) != 0) {
		int error = errno;

		ks_provider_free(p);
		errno = error;
		return NULL;
	}
	return &p->ks;
}

int
default_kstat_update(kstat_t *ksp, int rw)
{
	(void)ksp;
	(void)rw;
	return 0;
}

/* Notes what the header of the kstat says before its first read, by its n named values. */
static void
note_values(struct ks_provider *p, const kstat_named_t *kn, uint_t n)
{
	p->nforeign = 0;
	p->text_room = 0;
	for (uint_t i = 0; i < n; i++) {
		p->nforeign += ks_named_is_foreign(kn[i].data_type);
		if (kn[i].data_type == KSTAT_DATA_STRING || kn[i].data_type == KSTAT_DATA_INTS ||
		    kn[i].data_type == KSTAT_DATA_STRS)
			p->text_room += ks_named_room((size_t)kn[i].value.string.len + 1);
	}
}

int
kstat_install(kstat_t *ksp)
{
	struct ks_provider *p = (struct ks_provider *)ksp;
	uchar_t strings = 0;

	if (ksp == NULL)
		return ks_fail(EINVAL, "kstat_install: no kstat");
	if (!(ksp->ks_flags & KSTAT_FLAG_INVALID))
		return ks_fail(EINVAL, "%s:%d:%s is installed already", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_NAMED && ksp->ks_data != NULL && ksp->ks_snapshot == NULL &&
	    !(ksp->ks_flags & KSTAT_FLAG_VAR_SIZE)) {
		strings = ks_named_flags(ksp->ks_data, ksp->ks_ndata);
		note_values(p, ksp->ks_data, ksp->ks_ndata);
	}
	if (p->published != NULL) {
		if (ks_published_install(p) != 0)
			return -1;
		ksp->ks_flags |= strings;
		return 0;
	}
	if (ksp->ks_data == NULL && (ksp->ks_update == NULL || ksp->ks_update == default_kstat_update) &&
	    ksp->ks_snapshot == NULL && p->histogram == NULL && ksp->ks_data_size > 0)
		return ks_fail(EINVAL, "%s:%d:%s is VIRTUAL, but neither ks_data nor ks_update is set",
		    ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	if (ks_provider_check_names(p) != 0)
		return -1;
	ks_registry_show(p, strings);
	return 0;
}

void
kstat_delete(kstat_t *ksp)
{
	struct ks_provider *p = (struct ks_provider *)ksp;

	if (ksp == NULL)
		return;
	if (p->published != NULL)
		ks_published_delete(p);
	else
		ks_registry_remove(p);
}

int
kstat_delete_byname(const char *ks_module, int ks_instance, const char *ks_name)
{
	struct ks_provider *p = NULL;

	if (ks_module != NULL && ks_name != NULL)
		p = ks_registry_find(ks_module, ks_instance, ks_name);
	if (p == NULL)
		return ks_fail(ENOENT, "this process provides no kstat %s:%d:%s",
		    ks_module != NULL ? ks_module : "", ks_instance, ks_name != NULL ? ks_name : "");
	ks_registry_remove(p);
	return 0;
}
