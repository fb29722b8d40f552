/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes that are held for a microsecond or two and wanted by several threads at once. A
 * thread that finds one taken spins for a while before it sleeps: on a virtual machine
 * sleeping and waking cost 20 us and more, and the next waiter is delayed as well. Any code
 * may use them; a mutex held for longer is an ordinary one.
 */
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H

#include <pthread.h>

/* Initialises @m; pthread_mutex_lock() and the others work as on any mutex. Cannot fail. */
void tcpx_mutex_init(pthread_mutex_t *m);

#endif
