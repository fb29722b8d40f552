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
#define PLUG_REQUESTS     16   /* a comm's, done but unconsumed receives included        */
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
 * @path: a library's path; NULL or "": TCPX_PLUGIN_PATH, NCCL_NET_PLUGIN (a list; "none":
 *        -ENODEV), then libnccl-net.so
 * The same library again gives the same plugin, counted. The library is never unloaded: its
 * threads may live on.
 * Return: 0; -ENOENT: no such library; -ELIBBAD: not a plugin of v6 to v12, or its init
 * failed; -EINVAL: NCCL_DYNAMIC_CHUNK_SIZE unset or 0 (each logged in one line that says
 * what was tried and what is allowed).
 */
TCPX_MUST_CHECK int plug_open(const char *path, struct plug **plug);
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
/* -EAGAIN until it stands; exactly one comm; then (or at any time) plug_listen_close(). */
TCPX_MUST_CHECK int plug_accept(struct plug_listen *l, struct plug_comm **comm);
void plug_listen_close(struct plug_listen *l);
/* Call again with the same *comm (NULL at first) until 0; after a failure *comm is gone. */
TCPX_MUST_CHECK int plug_connect(struct plug *p, int dev,
				 const uint8_t handle[PLUG_HANDLE_BYTES],
				 struct plug_comm **comm);
void plug_connect_cancel(struct plug_comm **comm);
void plug_comm_close(struct plug_comm *c);
bool plug_comm_unpacks(const struct plug_comm *c);

/* The device handle's 24 bytes, which the caller has copied from the GPU: an accepted comm of
 * a plugin with unpack needs them before its first receive. addr: where they are. */
const void *plug_comm_device(const struct plug_comm *c);
void plug_comm_device_is(struct plug_comm *c, const uint8_t bytes[24]);

/* mem: 4096-aligned, whole pages. */
TCPX_MUST_CHECK int plug_reg(struct plug_comm *c, void *mem, size_t size, bool gpu,
			     void **mhandle);
void plug_dereg(struct plug_comm *c, void *mhandle);

/* Queue only; -EAGAIN: the ring is full, or a connection that came early is not up yet. */
TCPX_MUST_CHECK int plug_send(struct plug_comm *c, const void *mem, uint32_t len, int tag,
			      void *mhandle, struct plug_request **req);
TCPX_MUST_CHECK int plug_recv(struct plug_comm *c, void *mem, uint32_t room, int tag,
			      void *mhandle, struct plug_request **req);
/*
 * plug_test - drive the comm and ask for its oldest request that is not done
 * Return: 0: done (*len is its size: of a plugin with unpack the sum of its fragments); the
 * request of a send is gone; that of a receive stays until plug_consumed(). -EAGAIN; or what
 * broke the comm (for ever). -EINVAL (logged): not the oldest.
 */
TCPX_MUST_CHECK int plug_test(struct plug_comm *c, struct plug_request *req, uint32_t *len);
/* Of a done receive: its fragments, in whatever order they came. Checked: inside [0, room),
 * no overlap, covering exactly [0, len). TCPX_EFRAME. frag has PLUG_FRAGS_MAX. */
TCPX_MUST_CHECK int plug_frags(struct plug_comm *c, const struct plug_request *req,
			       struct plug_frag *frag, uint32_t *count);
/* In the order of posting, after the last read of its fragments. */
TCPX_MUST_CHECK int plug_consumed(struct plug_comm *c, struct plug_request *req);

#endif
