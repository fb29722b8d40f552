/* SPDX-License-Identifier: Apache-2.0 */
/* Who listens at a TCP port of this network namespace, as far as /proc shows. */
#ifndef MEASURE_PERF_PORT_HOLDER_H
#define MEASURE_PERF_PORT_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/* "process 4711 (tcpx serve --port 28515)" in @buf, which it returns; "" if that is not known:
 * another user's process, or in another namespace of processes. */
const char *port_holder(uint16_t port, char *buf, size_t cap);

#endif
