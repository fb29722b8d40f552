/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared secret. Its keyed hash (HMAC-SHA512-256) comes from libsodium, loaded only
 * when a secret is configured; without the library a secret is an error, never ignored.
 */
#include "core/session/auth.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/log.h"

#define SECRET_MIN 16
#define SECRET_MAX 4096

struct auth {
	void *lib;
	int (*hash)(unsigned char *out, const unsigned char *in, unsigned long long len);
	int (*mac)(unsigned char *out, const unsigned char *in, unsigned long long len,
		   const unsigned char *key);
	uint8_t key[32];
};

static int
load_library(struct auth *a)
{
	int (*start)(void);

	a->lib = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
	if (!a->lib)
		a->lib = dlopen("libsodium.so", RTLD_NOW | RTLD_LOCAL);
	if (!a->lib)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE is set, but libsodium cannot be loaded: %s",
				 dlerror());
	*(void **)&start = dlsym(a->lib, "sodium_init");
	*(void **)&a->hash = dlsym(a->lib, "crypto_hash_sha256");
	*(void **)&a->mac = dlsym(a->lib, "crypto_auth");
	if (!start || !a->hash || !a->mac || start() < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "libsodium lacks crypto_auth");
	return 0;
}

static int
read_secret(const char *path, uint8_t *secret, size_t *len)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	if (!f)
		return tcpx_fail_errno(TCPX_SUB_INIT, "open TCPX_SECRET_FILE %s", path);
	if (fstat(fileno(f), &st) == 0 && (st.st_mode & S_IROTH))
		tcpx_warn(TCPX_SUB_INIT, "TCPX_SECRET_FILE %s can be read by every user (mode %04o): "
			  "chmod 600", path, st.st_mode & 07777);
	*len = fread(secret, 1, SECRET_MAX, f);
	fclose(f);
	while (*len > 0 && (secret[*len - 1] == '\n' || secret[*len - 1] == '\r'))
		(*len)--;
	if (*len < SECRET_MIN)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE %s holds %zu bytes, at least %d are needed", path,
				 *len, SECRET_MIN);
	return 0;
}

int
tcpx_auth_open(const char *secret_file, struct auth **out)
{
	uint8_t secret[SECRET_MAX];
	struct auth *a;
	size_t len = 0;
	int rc;

	rc = read_secret(secret_file, secret, &len);
	if (rc)
		return rc;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	rc = load_library(a);
	if (rc) {
		tcpx_auth_close(a);
		return rc;
	}
	a->hash(a->key, secret, len);
	*out = a;
	return 0;
}

void
tcpx_auth_close(struct auth *a)
{
	if (!a)
		return;
	if (a->lib)
		dlclose(a->lib);
	free(a);
}

void
tcpx_auth_mac(const struct auth *a, const void *data, size_t len, uint8_t mac[32])
{
	a->mac(mac, data, len, a->key);
}
