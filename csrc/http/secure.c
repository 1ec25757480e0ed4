/* secure.c - see secure.h. SPDX-License-Identifier: MIT */
#include "http/secure.h"

#include <crypt.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static gnutls_datum_t
datum_of(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
}

const char *
http_tls_wrong(const struct http_tls *tls)
{
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t certificate = datum_of(tls->certificate), key = datum_of(tls->key), ca;
	int rc = gnutls_certificate_allocate_credentials(&credentials);

	if (rc < 0)
		return gnutls_strerror(rc);
	rc = gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);
	if (rc >= 0 && tls->client_ca != NULL) {
		ca = datum_of(tls->client_ca);
		rc = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
		rc = rc == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : rc;
	}
	gnutls_certificate_free_credentials(credentials);
	return rc < 0 ? gnutls_strerror(rc) : NULL;
}

bool
http_tls_trusts(struct MHD_Connection *connection, bool clients_may_lack)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned status = 0, n = 0;
	gnutls_session_t session = info != NULL ? info->tls_session : NULL;

	if (session == NULL)
		return false;
	if (gnutls_certificate_get_peers(session, &n) == NULL || n == 0)
		return clients_may_lack;
	return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0;
}

bool
http_is_password(const char *password, const char *hash)
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	const char *made = data != NULL ? crypt_rn(password, hash, data, (int)sizeof(*data)) : NULL;
	size_t n = strlen(hash);
	bool fits = made != NULL && strlen(made) == n;
	unsigned char differs = 0;

	/* All bytes are compared, so that the time says nothing of them. */
	for (size_t i = 0; fits && i < n; i++)
		differs |= (unsigned char)(made[i] ^ hash[i]);
	free(data);
	return fits && differs == 0;
}
