/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A send comm or a receive comm. Everything moves inside test(): it hands chunks to the sockets
 * (tasks) and takes finished ones back; helper threads only move the bytes of tasks. One thread
 * at a time may be in a function of a comm; which one, does not matter.
 *
 * A socket's tasks are a ring between two threads: the driver adds at tail and takes at head,
 * the helper finishes at moved; head <= moved <= tail <= head + EMU_TASKS_MAX.
 */
#ifndef EMU_COMM_H
#define EMU_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/config.h"
#include "emu/ctrl.h"
#include "emu/faults.h"
#include "emu/pool.h"
#include "emu/reg.h"
#include "emu/ring.h"
#include "emu/shape.h"
#include "emu/topology.h"

#define EMU_SHELLS   256 /* requests' pointers in turn, so that an old one is known as such */
#define EMU_BATCH    32  /* fragments that one call to the kernel fills                     */
#define EMU_STAGING  (256u << 10)
#define EMU_COMM_MAGIC 0x7c9e3001u
#define EMU_SHELL_MAGIC 0x7c9e3002u

/* A task ends the process or its connection when it comes to a byte. */
struct emu_trigger {
	const struct emu_fault *fault; /* NULL: none */
	uint32_t at;                   /* bytes of the task */
};

struct emu_task {
	uint64_t seq;         /* of the request                                     */
	uint32_t offset, len; /* in the request                                     */
	uint32_t moved;       /* the helper's                                       */
	uint64_t not_before;  /* ns                                                 */
	struct emu_trigger trigger;
	/* send */
	const char *src;
	uint32_t real;        /* bytes that src has; filler follows                 */
	bool gpu;             /* src is a GPU's                                     */
	uint64_t end;         /* of the socket's bytes                              */
	/* receive */
	struct emu_shape shape;
	struct nccl_unpack_frag *frag; /* EMU_TASK_FRAGS                            */
	uint32_t frags;
	uint16_t epoch;       /* how many tasks of the request the socket had before */
	int64_t flip;         /* byte of the task to spoil, or -1                   */
	const char *no_cmsg;  /* why the first byte is fatal, or NULL               */
};

struct emu_socket {
	int fd;
	unsigned index;
	bool dead;                     /* the helper's                              */
	struct emu_task task[EMU_TASKS_MAX];
	uint32_t head;                 /* the driver's                              */
	_Atomic uint32_t moved, tail;
	uint64_t queued;               /* bytes of tasks so far                     */
	_Atomic uint64_t sent;         /* that the kernel took                      */
	bool early;                    /* bytes came before the rule was active     */
	/* the helper's: fragments being filled, or bytes staged on their way out */
	struct {
		uint32_t page, src, len, got;
	} fill[EMU_BATCH];
	unsigned fills, filled;
	char *staging;
	uint64_t staged_seq;
	uint32_t staged_from, staged_len; /* of the task's bytes                    */
};

struct emu_helper {
	struct emu_comm *comm;
	unsigned index;
	bool started;
	pthread_t thread;
	int wake;                      /* an eventfd                                */
	struct emu_copier copier;
	uint64_t rng;
};

struct emu_page {
	uint32_t page;
	uint16_t socket, epoch;
};

struct emu_request {
	struct emu_reg *reg;
	char *data;
	uint32_t posted, total, cut;   /* bytes: asked for, announced, in tasks     */
	bool known;                    /* total is                                  */
	unsigned pending;              /* tasks                                     */
	uint64_t hash;                 /* of the source, in strict mode             */
	int64_t late;                  /* test() calls to come before done, -1: not asked yet */
	uint64_t hold;                 /* ns: not done before, 0: not asked yet     */
	/* receive */
	struct nccl_unpack_frag *frag; /* NCCL_UNPACK_FRAGS + 1                     */
	uint16_t *group;               /* which task each came with                 */
	struct emu_page *page;
	uint32_t frags;
	unsigned groups;
	uint32_t posted_sockets;       /* a bit each that got a task                */
	uint16_t epoch[EMU_SOCKETS_MAX];
};

struct emu_shell {
	uint32_t magic;
	struct emu_comm *comm;
	uint64_t seq;
};

struct emu_comm {
	uint32_t magic;
	enum emu_role role;
	int index;                     /* of the role, in this process              */
	struct emu_comm *next;         /* all there ever were                       */
	const struct emu_config *config;
	const struct emu_faults *faults;
	const struct emu_nic *nic;
	int gpu;
	bool closed;
	_Atomic bool inside;
	_Atomic int up;                /* 0: being connected, 1: stands, < 0: failed */
	pthread_t setup;
	bool setup_runs;

	struct emu_ctrl ctrl;
	unsigned sockets, helpers;
	struct emu_socket socket[EMU_SOCKETS_MAX];
	struct emu_helper helper[EMU_THREADS_MAX];
	_Atomic bool stop;
	_Atomic bool stalled;          /* a fault: nothing moves any more           */

	struct emu_ring ring;
	struct emu_request request[EMU_REQUESTS];
	struct emu_shell shell[EMU_SHELLS];
	struct emu_reg *regs;
	unsigned last_socket;          /* that got a task                           */
	uint64_t announced;            /* receives that the peer has announced      */
	uint64_t announce;             /* of ours                                   */
	bool host_said;

	/* receive */
	struct emu_pool *pool;
	struct nccl_unpack_meta *meta;
	struct nccl_unpack_device *device; /* the GPU's                             */
	struct emu_copier copier;          /* the driver's: poison, strict's checks */
	const char *no_cmsg;
	char *frag_room;
	uint32_t *lost;                    /* pages whose tokens were forgotten     */
	uint32_t lost_count, lost_cap;
};

/* In setup.c's hands until it stands. NULL: no memory. */
struct emu_comm *emu_comm_new(enum emu_role role, const struct emu_config *config,
			      const struct emu_faults *faults, const struct emu_nic *nic, int gpu,
			      int index);
/* Pool, metadata, the 24 bytes of a receive comm. */
bool emu_comm_receives(struct emu_comm *c);
/* Stops helpers, closes connections, gives back pages. What is left tells late callers. */
enum nccl_result emu_comm_close(struct emu_comm *c);

/* Is @ptr a comm of the role that is not closed? Then the caller is inside until
 * emu_comm_leave(), which gives the result on. */
enum nccl_result emu_comm_enter(void *ptr, int role, const char *call, struct emu_comm **c);
enum nccl_result emu_comm_leave(struct emu_comm *c, enum nccl_result result);

struct emu_request *emu_comm_request(struct emu_comm *c, uint64_t seq);
/* A new request at the ring's tail, and its pointer for the caller. */
struct emu_request *emu_comm_post(struct emu_comm *c, struct emu_reg *reg, void *data,
				  uint32_t bytes, void **request);
const struct emu_fault *emu_comm_fault(const struct emu_comm *c, enum emu_fault_kind kind,
				       int64_t req);
/* The byte of a request that a fault names, the middle by default, if the task has it; else -1. */
int64_t emu_comm_fault_byte(const struct emu_fault *f, const struct emu_task *t, uint32_t total);

bool emu_socket_room(const struct emu_socket *s);
/* The next task to fill in; it counts from emu_socket_add() on. */
struct emu_task *emu_socket_task(struct emu_socket *s);
void emu_socket_add(struct emu_comm *c, struct emu_socket *s, uint32_t total);
/* The oldest that its helper has finished, or NULL. */
struct emu_task *emu_socket_moved(struct emu_socket *s);
void emu_socket_taken(struct emu_socket *s);

/* What one call of test() moves. NCCL_REMOTE_ERROR... codes of the real one. */
enum nccl_result emu_send_progress(struct emu_comm *c);
enum nccl_result emu_recv_progress(struct emu_comm *c);
/* The oldest TRANSMITTING one is done. */
bool emu_send_done(struct emu_comm *c, struct emu_request *r);
bool emu_recv_done(struct emu_comm *c, struct emu_request *r);
enum nccl_result emu_recv_consumed(struct emu_comm *c, uint64_t seq);
/* strict: a send's source as it is now. */
uint64_t emu_send_hash(struct emu_comm *c, const struct emu_request *r);

uint64_t emu_now_ns(void);

#endif
