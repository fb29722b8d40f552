/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of fragments that a plugin wrote: whether they form a message. Pure, except that the
 * list is the plugin's memory. The check reads each entry once: the copy that is checked is the
 * copy that is used.
 */
#ifndef NET_PLUGIN_FRAG_H
#define NET_PLUGIN_FRAG_H

#include "net/plugin/nccl_net.h"

#define PLUG_FRAGS_MAX 2048 /* fragments of one receive */

/* One piece of a landed message: src is an address in the bounce pool, dst_off is in the
 * message. */
struct plug_frag {
	uint64_t src;
	uint64_t dst_off;
	uint32_t len;
};

/* The bytes of @count fragments. UINT64_MAX: there are more than a list has, or one reaches
 * beyond @room or the 4 GiB of a pool. */
uint64_t plug_frags_sum(const struct nccl_unpack_frag *list, uint64_t count, uint64_t room);

/*
 * plug_frags_check - copy a list if it covers each byte of [0, len) exactly once
 * @bounce: address of the pool
 * @out:    PLUG_FRAGS_MAX; in the list's order, without empty ones; undefined on failure
 * Return: 0 or TCPX_EFRAME (not logged)
 */
int plug_frags_check(const struct nccl_unpack_frag *list, uint64_t count, uint32_t len,
		     uint64_t bounce, struct plug_frag *out, uint32_t *out_count);

#endif
