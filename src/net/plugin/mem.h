/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a comm may send from and receive into. */
#ifndef NET_PLUGIN_MEM_H
#define NET_PLUGIN_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct plug_comm;

/* For this comm alone. Memory of a GPU must be whole pages of 4096 bytes. -EINVAL, -EMSGSIZE,
 * -EOPNOTSUPP (a kind of memory that the NIC does not take), or the plugin's failure; the comm
 * stays usable. plug_dereg(): none of its messages may be on its way. Memory that is still
 * registered ends with the comm. */
TCPX_MUST_CHECK int plug_reg(struct plug_comm *c, void *mem, size_t size, bool gpu,
			     void **mhandle);
void plug_dereg(struct plug_comm *c, void *mhandle);

/* Deregisters all memory of the comm. */
void plug_mrs_drop(struct plug_comm *c);

#endif
