/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding OpenSSL by its name. The first of two versions whose both libraries can be loaded is
 * taken; one that then lacks a function is an error, never a reason to try another. The library is
 * one for the process, and so is the count of those who use it.
 */
#include "seal/openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

_Static_assert(sizeof(long) == sizeof(uint64_t), "1.1.1 has unsigned long where 3 has uint64_t");

#define WAIT_NS	   100000
#define WAIT_TIMES 20000

static _Atomic unsigned users; /* calls under way */
static _Atomic bool gone;      /* the process is taking the library down */
static _Atomic pid_t process;  /* of users: a child's other threads have not come with it */
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
	char why[256] = ""; /* dlerror()'s text lasts until the next call */
	int rc;

	memset(api, 0, sizeof(*api));
	for (size_t i = 0; i < 2 && !api->ssl; i++) {
		api->crypto = dlopen(names[i][0], how);
		api->ssl = api->crypto ? dlopen(names[i][1], how) : NULL;
		if (!api->ssl && !*why)
			snprintf(why, sizeof(why), "%s", dlerror());
	}
	if (!api->ssl)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE is set, but OpenSSL cannot be loaded, neither "
				 "libssl.so.3 with libcrypto.so.3 nor libssl.so.1.1 with "
				 "libcrypto.so.1.1: %s", why);
	rc = find_symbols(api, api->crypto, of_crypto, sizeof(of_crypto) / sizeof(of_crypto[0]));
	if (rc == 0)
		rc = find_symbols(api, api->ssl, of_ssl, sizeof(of_ssl) / sizeof(of_ssl[0]));
	return rc;
}

bool
tcpx_openssl_enter(void)
{
	atomic_fetch_add(&users, 1);
	if (!atomic_load(&gone))
		return true;
	tcpx_openssl_leave();
	return false;
}

void
tcpx_openssl_leave(void)
{
	atomic_fetch_sub(&users, 1);
}

/* A bound, because exit() may have been called by a signal's handler inside a use. */
static void
wait_for_users(void)
{
	const struct timespec pause = { 0, WAIT_NS };

	atomic_store(&gone, true);
	for (int i = 0; i < WAIT_TIMES && atomic_load(&users) && process == getpid(); i++)
		nanosleep(&pause, NULL);
}

/* pthread_once() has no argument. */
static _Thread_local const struct tcpx_openssl *starting;

static void
watch_exit(void)
{
	starting->OPENSSL_atexit(wait_for_users);
}

/*
 * The application's openssl.cnf is loaded as it would be without us: who comes first loads it for
 * the whole process. Nobody takes the library down at exit() on our account.
 */
bool
tcpx_openssl_start(const struct tcpx_openssl *api)
{
	if (api->OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_SSL_STRINGS |
				  OPENSSL_INIT_LOAD_CRYPTO_STRINGS, NULL) != 1)
		return false;
	if (atomic_exchange(&process, getpid()) != getpid())
		atomic_store(&users, 0);
	starting = api;
	pthread_once(&once, watch_exit);
	return true;
}
