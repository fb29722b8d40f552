/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding OpenSSL by its name. The first of two versions whose both libraries can be loaded is
 * taken; one that then lacks a function is an error, never a reason to try another.
 */
#include "seal/openssl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"

_Static_assert(sizeof(long) == sizeof(uint64_t), "1.1.1 has unsigned long where 3 has uint64_t");

struct wanted {
	const char *symbol;
	size_t offset; /* of the pointer in struct tcpx_openssl */
	bool optional;
};

#define REQUIRED(result, name, params) { #name, offsetof(struct tcpx_openssl, name), false },
#define OPTIONAL(result, name, params) { #name, offsetof(struct tcpx_openssl, name), true },

static const struct wanted of_crypto[] = {
	TCPX_OPENSSL_CRYPTO(REQUIRED)
	TCPX_OPENSSL_OPTIONAL(OPTIONAL)
};

static const struct wanted of_ssl[] = {
	TCPX_OPENSSL_SSL(REQUIRED)
	TCPX_OPENSSL_SSL_OPTIONAL(OPTIONAL)
};

static int
find_symbols(struct tcpx_openssl *api, void *library, const struct wanted *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, wanted[i].symbol);

		if (!address && !wanted[i].optional)
			return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
					 "TCPX_SECRET_FILE is set, but the OpenSSL here has no %s: "
					 "1.1.1 or later is needed", wanted[i].symbol);
		memcpy((char *)api + wanted[i].offset, &address, sizeof(address));
	}
	return 0;
}

int
tcpx_openssl_load(struct tcpx_openssl *api)
{
	static const char *const names[][2] = { { "libcrypto.so.3", "libssl.so.3" },
						{ "libcrypto.so.1.1", "libssl.so.1.1" } };
	const int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	const char *why = NULL;
	int rc;

	memset(api, 0, sizeof(*api));
	for (size_t i = 0; i < 2 && !api->ssl; i++) {
		api->crypto = dlopen(names[i][0], how);
		api->ssl = api->crypto ? dlopen(names[i][1], how) : NULL;
		if (!api->ssl && !why)
			why = dlerror();
	}
	if (!api->ssl)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE is set, but OpenSSL cannot be loaded, neither "
				 "libssl.so.3 with libcrypto.so.3 nor libssl.so.1.1 with "
				 "libcrypto.so.1.1: %s", why ? why : "no reason given");
	rc = find_symbols(api, api->crypto, of_crypto, sizeof(of_crypto) / sizeof(of_crypto[0]));
	if (rc == 0)
		rc = find_symbols(api, api->ssl, of_ssl, sizeof(of_ssl) / sizeof(of_ssl[0]));
	return rc;
}
