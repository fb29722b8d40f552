/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NCCL net plugin, whatever its version, as one set of functions: found as NCCL finds it,
 * initialised once a process, its table adapted to this shape (v6 to v12, never one cast to
 * another). Nothing here waits: "not yet" is -EAGAIN. A comm is driven by one thread at a
 * time. The rules and their sources: docs/tcpx.md.
 */
#ifndef NET_PLUG_H
#define NET_PLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PLUG_HANDLE_BYTES 128
#define PLUG_REQUESTS     16   /* a comm's most, done but unconsumed receives included   */
#define PLUG_FRAGS_MAX    2048 /* fragments of one receive                               */

struct plug;        /* the loaded plugin; one a process and library                      */
struct plug_listen; /* accepts once                                                      */
struct plug_comm;   /* a send comm or a receive comm                                     */
struct plug_request;

struct plug_props {
	char name[32];      /* of the NIC                                                */
	char pci[64];       /* where it sits: the sysfs device path's last part; "" none */
	uint32_t speed_mbps;
	bool unpack;        /* payload lands in bounce pages: device handle, consumed()  */
	bool gpu, host;     /* kinds of memory it takes                                  */
	uint32_t recvs_max; /* a group of irecv()                                        */
	uint32_t requests_max; /* of a comm, at once: PLUG_REQUESTS; of a plugin v6 8    */
};

/* One piece of a landed message: src is an address in the bounce pool, dst_off is in the
 * message. */
struct plug_frag {
	uint64_t src;
	uint64_t dst_off;
	uint32_t len;
};

/*
 * plug_open - load, look up, initialise
 * @path: a library's path or name; NULL or "": TCPX_PLUGIN_PATH, NCCL_NET_PLUGIN (a list;
 *        "none": -ENODEV), then libnccl-net.so and where Google's is installed
 * The same library again gives the same plugin, counted. The library is never unloaded: its
 * threads may live on. Whose init() has failed, has failed for the life of the process.
 * Any thread; may take as long as the plugin's init() does.
 * Return: 0; -ENOENT: no such library; -ELIBBAD: not a plugin of v6 to v12, or its init
 * failed; -ENODEV: it has no device; -EINVAL: NCCL_DYNAMIC_CHUNK_SIZE unset or 0 for a plugin
 * of the TCPX family, decided before init() (each logged in one line that says what was tried
 * and what is allowed).
 */
TCPX_MUST_CHECK int plug_open(const char *path, struct plug **plug);
/* When its comms and listeners are closed. NULL: nothing. */
void plug_close(struct plug *p);

const char *plug_name(const struct plug *p);    /* as it calls itself: "GPUDirectTCPX_v7" */
const char *plug_path(const struct plug *p);
int plug_abi(const struct plug *p);             /* 6 .. 12                                */
int plug_devices(const struct plug *p);
TCPX_MUST_CHECK int plug_properties(struct plug *p, int dev, struct plug_props *out);

/* The GPU of what these make is the calling thread's current one. Handles are copied: the
 * mutable private copy that connect() needs is kept inside. */
TCPX_MUST_CHECK int plug_listen(struct plug *p, int dev, uint8_t handle[PLUG_HANDLE_BYTES],
				struct plug_listen **l);
/* -EAGAIN until it stands; exactly one comm; then (or at any time) plug_listen_close(). The
 * plugin begins to accept at the first call: ask all listeners before waiting for one. */
TCPX_MUST_CHECK int plug_accept(struct plug_listen *l, struct plug_comm **comm);
void plug_listen_close(struct plug_listen *l);
/* Call again with the same *comm (NULL at first) until 0; after a failure *comm is gone. It
 * may stand before the acceptor's does: nothing may be sent until that is known to stand. */
TCPX_MUST_CHECK int plug_connect(struct plug *p, int dev,
				 const uint8_t handle[PLUG_HANDLE_BYTES],
				 struct plug_comm **comm);
void plug_connect_cancel(struct plug_comm **comm);
/* Whatever state it is in. Memory registered still is given up, and the pages of landed
 * receives go back: nobody may be reading them any more. */
void plug_comm_close(struct plug_comm *c);
bool plug_comm_unpacks(const struct plug_comm *c);

/* Where the device handle's 24 bytes lie in GPU memory (NULL: there are none), and what they
 * are, which the caller has copied from there: an accepted comm of a plugin with unpack needs
 * them before its first receive. Bad ones break the comm. */
const void *plug_comm_device(const struct plug_comm *c);
void plug_comm_device_is(struct plug_comm *c, const uint8_t bytes[24]);

/* mem: of a GPU, 4096-aligned, whole pages. For this comm. -EINVAL, -EMSGSIZE, -EOPNOTSUPP (a
 * kind of memory that the NIC does not take), or the plugin's failure; the comm lives on.
 * dereg: none of its messages may be on its way; what is left ends with the comm. */
TCPX_MUST_CHECK int plug_reg(struct plug_comm *c, void *mem, size_t size, bool gpu,
			     void **mhandle);
void plug_dereg(struct plug_comm *c, void *mhandle);

/* Queue only; -EAGAIN: the ring is full, or a connection that came early is not up yet. mem
 * lies within what mhandle registered. What the plugin refuses otherwise breaks the comm:
 * every later call gives the same code. TCPX_ECHANNEL (its system or remote error), -EPROTO
 * (internal), -EIO (CUDA), -EINVAL. */
TCPX_MUST_CHECK int plug_send(struct plug_comm *c, const void *mem, uint32_t len, int tag,
			      void *mhandle, struct plug_request **req);
TCPX_MUST_CHECK int plug_recv(struct plug_comm *c, void *mem, uint32_t room, int tag,
			      void *mhandle, struct plug_request **req);
/*
 * plug_test - drive the comm and ask for its oldest request that is not done
 * Return: 0: done (*len is its size: of a plugin with unpack the sum of its fragments, which
 * fit the room); the request of a send is gone; that of a receive stays until
 * plug_consumed(). -EAGAIN; or what broke the comm (for ever). -EINVAL (logged): not the
 * oldest. Memory of a GPU that an ordinary plugin wrote to has been flushed when this says 0.
 */
TCPX_MUST_CHECK int plug_test(struct plug_comm *c, struct plug_request *req, uint32_t *len);
/* Of a done receive: its fragments, in whatever order they came. Checked: inside [0, room),
 * no overlap, covering exactly [0, len). TCPX_EFRAME. frag has PLUG_FRAGS_MAX. */
TCPX_MUST_CHECK int plug_frags(struct plug_comm *c, const struct plug_request *req,
			       struct plug_frag *frag, uint32_t *count);
/* In the order of posting, after the last read of its fragments has completed: the NIC may
 * write to those pages at once. -EINVAL (logged): not the oldest landed one. */
TCPX_MUST_CHECK int plug_consumed(struct plug_comm *c, struct plug_request *req);

#endif
