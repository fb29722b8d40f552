/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes that spin before they sleep: glibc's adaptive kind, elsewhere the default. */
#include "base/mutex.h"

#ifdef __GLIBC__
#define PATIENT PTHREAD_MUTEX_ADAPTIVE_NP
#else
#define PATIENT PTHREAD_MUTEX_DEFAULT
#endif

void
tcpx_mutex_init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PATIENT);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}
