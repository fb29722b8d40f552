/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that are held for a microsecond or two, by threads of which several may want one at
 * the same moment. Who finds one taken looks again for a while before it sleeps: on a virtual
 * machine, to sleep and be woken costs 20 us and more, and the next in line finds it taken, too.
 */
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H

#include <pthread.h>

/* An ordinary mutex in all else. Cannot fail. */
void tcpx_mutex_init(pthread_mutex_t *m);

#endif
