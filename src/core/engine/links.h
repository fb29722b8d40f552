/* SPDX-License-Identifier: Apache-2.0 */
/* A link, an address or a route has changed: what stands on a NIC that is down is given up, and lost
 * channels are tried, at once. */
#ifndef CORE_ENGINE_LINKS_H
#define CORE_ENGINE_LINKS_H

#include "core/context/context.h"

/* Without the kernel's reports channels are tried by time alone. -ENOMEM. */
int tcpx_links_watch(struct tcpx_engine *e);
/* Sessions look at nics.down, which may have changed. Lease of loop 0 held. */
void tcpx_links_changed(struct tcpx_engine *e, uint64_t now_ns);
void tcpx_links_unwatch(struct tcpx_engine *e); /* after the loops have stopped */

#endif
