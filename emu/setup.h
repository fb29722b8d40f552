/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen(), connect(), accept() and what they leave behind. Each comm connects in a thread
 * of its own; the caller polls for it. A handle holds a pointer into this process:
 * connect() must see the same memory again.
 */
#ifndef EMU_SETUP_H
#define EMU_SETUP_H

#include "emu/comm.h"

struct emu {
	struct emu_config config;
	struct emu_topology topology;
	struct emu_faults faults;
	pid_t pid;
};

/* Is CTRL_DEV, if it is set, a NIC or an interface? */
bool emu_ctrl_dev_found(struct emu *e);
enum nccl_result emu_listen(struct emu *e, int dev, void *handle, void **listen_comm);
enum nccl_result emu_connect(struct emu *e, int dev, void *handle, void **send_comm);
enum nccl_result emu_accept(struct emu *e, void *listen_comm, void **recv_comm,
			    struct nccl_device_handle **device);
enum nccl_result emu_listen_close(void *listen_comm);

/* The body of a comm's thread. */
void *emu_setup_dial(void *dial);
void *emu_setup_accept(void *listen);

#define EMU_HANDLE_MAGIC 0x7c9e3003u
#define EMU_LISTEN_MAGIC 0x7c9e3004u
#define EMU_HELLO_MAGIC	 0x7c9e3005u
#define EMU_DIAL_MAGIC	 0x7c9e3006u
#define EMU_CTRL_INDEX	 0xffffu

struct emu_dial;

struct emu_handle {
	uint32_t magic;
	uint16_t sockets, helpers;
	uint64_t nonce;
	struct sockaddr_in data, ctrl;
	char network[EMU_NETWORK_BYTES];
	struct emu_dial *dial; /* NULL until connect() */
};

_Static_assert(sizeof(struct emu_handle) <= NCCL_HANDLE_BYTES, "a handle has 128 bytes");

/* A comm on its way to the caller. */
struct emu_wait {
	struct emu_comm *comm; /* once given it may be another's          */
	int index;             /* the comm's                              */
	bool failed;
	int64_t nulls;         /* NULL answers still to give              */
	bool early;            /* given before it is up                   */
	bool given;            /* or failed: the caller must not come again */
};

struct emu_dial {
	struct emu_kept_node kept;
	uint32_t magic;
	struct emu_handle to;
	const void *memory;    /* the caller's                            */
	struct emu_wait wait;
};

struct emu_listen_comm {
	struct emu_kept_node kept;
	uint32_t magic;
	const struct emu_nic *nic;
	int gpu, data_fd, ctrl_fd;
	unsigned sockets, helpers;
	uint64_t nonce;
	bool closed;
	struct emu_wait wait;
};

#endif
