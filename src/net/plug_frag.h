/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of fragments that a plugin wrote: whether they are a message. Pure, but for reading
 * the list, which is the plugin's memory and is read once here: what is checked is what is
 * handed on.
 */
#ifndef NET_PLUG_FRAG_H
#define NET_PLUG_FRAG_H

#include "net/nccl_net.h"
#include "net/plug.h"

/* The bytes of @count fragments; UINT64_MAX if there are more of them than a list has, or
 * if one reaches beyond @room, or behind the 4 GiB that a pool has at most. */
uint64_t plug_frags_sum(const struct nccl_unpack_frag *list, uint64_t count, uint64_t room);

/*
 * plug_frags_check - copy a list, if it covers [0, len) exactly and nothing twice
 * @bounce: address of the pool
 * @out:    PLUG_FRAGS_MAX; in the list's order, without empty ones; undefined on failure
 * Return: 0 or TCPX_EFRAME (not logged)
 */
int plug_frags_check(const struct nccl_unpack_frag *list, uint64_t count, uint32_t len,
		     uint64_t bounce, struct plug_frag *out, uint32_t *out_count);

#endif
