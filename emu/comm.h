/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A send comm or a receive comm. Everything happens inside test(): it gives chunks to the
 * sockets (tasks) and collects finished ones. Helper threads only move the bytes of tasks.
 * One thread at a time, any thread, may be in a function of a comm.
 *
 * A socket's tasks are a ring between two threads: the driver adds at tail and removes at head,
 * the helper finishes at moved; head <= moved <= tail <= head + EMU_TASKS_MAX.
 */
#ifndef EMU_COMM_H
#define EMU_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/config.h"
#include "emu/ctrl.h"
#include "emu/faults.h"
#include "emu/kept.h"
#include "emu/pool.h"
#include "emu/reg.h"
#include "emu/ring.h"
#include "emu/shape.h"
#include "emu/topology.h"

#define EMU_SHELLS   256 /* pointers used in turn in strict mode, so a stale one is recognised; else
			  * those of EMU_REQUESTS come again, as by the real plugin    */
#define EMU_BATCH    32  /* fragments that one call into the kernel fills                   */
#define EMU_STAGING  (256u << 10)
#define EMU_COMM_MAGIC 0x7c9e3001u
#define EMU_SHELL_MAGIC 0x7c9e3002u

/* A fault that ends the process or the connection when its task reaches a byte. */
struct emu_trigger {
	struct emu_fault *fault;       /* NULL: none */
	uint32_t at;                   /* bytes of the task */
};

struct emu_task {
	uint64_t seq;         /* of the request                                     */
	uint32_t offset, len; /* in the request                                     */
	uint32_t moved;       /* written by the helper                              */
	uint64_t not_before;  /* ns                                                 */
	struct emu_trigger trigger;
	/* send */
	const char *src;
	uint32_t real;        /* bytes that src has; filler follows                 */
	bool gpu;             /* src is a GPU's                                     */
	uint64_t end;         /* end offset in the socket's bytes                   */
	/* receive */
	struct emu_shape shape;
	struct nccl_unpack_frag *frag; /* EMU_TASK_FRAGS                            */
	uint32_t frags;
	uint16_t epoch;       /* earlier tasks of the request on this socket */
	int64_t flip;         /* byte of the task to corrupt, or -1                 */
	struct emu_fault *flips;       /* whose flip it is                          */
	const char *no_cmsg;  /* why the first byte is fatal, or NULL               */
};

struct emu_socket {
	int fd;
	unsigned index;
	_Atomic bool lies;             /* a fault: what it was given counts as sent */
	struct emu_task task[EMU_TASKS_MAX];
	uint32_t head;                 /* written by the driver                     */
	_Atomic uint32_t moved, tail;
	uint64_t queued;               /* bytes of all tasks so far                 */
	_Atomic uint64_t sent;         /* taken by the kernel                       */
	_Atomic uint64_t landed;       /* bytes in pages                            */
	bool early;                    /* bytes came before the steering rule was active */
	/* the helper's: fragments being filled, or staged bytes to send */
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
	_Atomic bool ended;            /* by itself: a connection failed            */
	struct emu_copier copier;
	uint64_t rng;
};

/* The pages of a fragment, one after the other: one page but with frag-large. */
struct emu_page {
	uint32_t page;
	uint16_t pages, socket, epoch;
};

struct emu_request {
	struct emu_reg *reg;
	char *data;
	uint32_t posted, total, cut;   /* bytes: posted, announced, in tasks        */
	bool known;                    /* total is known                            */
	unsigned pending;              /* tasks                                     */
	uint64_t hash;                 /* of the source, in strict mode             */
	int64_t late;                  /* test() calls until done; -1: not decided yet */
	uint64_t hold;                 /* ns: not done before; 0: not decided yet   */
	/* receive */
	struct nccl_unpack_frag *frag; /* NCCL_UNPACK_FRAGS + 1                     */
	uint16_t *group;               /* the task that each came with              */
	struct emu_page *page;
	uint32_t frags;
	unsigned groups;
	uint32_t posted_sockets;       /* one bit for each socket that got a task   */
	uint16_t epoch[EMU_SOCKETS_MAX];
};

struct emu_shell {
	uint32_t magic;
	struct emu_comm *comm;
	uint64_t seq;
};

struct emu_comm {
	struct emu_kept_node kept;
	uint32_t magic;
	enum emu_role role;
	int index;                     /* index within its role, in this process    */
	const struct emu_config *config;
	struct emu_faults *faults;
	const struct emu_nic *nic;
	int gpu;
	pid_t pid;                     /* whose threads it has                      */
	bool closed;
	_Atomic bool inside;
	_Atomic int up;                /* 0: connecting, 1: up, < 0: failed */
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
	unsigned last_socket;          /* the socket that got the last task         */
	uint64_t announced;            /* receives announced by the peer            */
	uint64_t announce;             /* receives announced by this side           */
	bool host_said;
	_Atomic uint64_t asked_ns;         /* sends: when one was posted or tested last; 0: none
					    * is waiting, or it was said                 */
	struct {
		uint64_t moved, since; /* ns; 0: not looked at yet */
		bool said;
	} stall;

	/* receive */
	struct emu_pool *pool;
	struct nccl_unpack_meta *meta;
	struct nccl_unpack_device *device; /* the GPU's                             */
	struct emu_copier copier;          /* the driver's: poison, strict mode's checks */
	const char *no_cmsg;               /* why there is none, or NULL            */
	char wrong_nic[400];               /* its text                              */
	char *frag_room;
	uint32_t *lost;                    /* pages whose tokens were forgotten     */
	uint32_t lost_count, lost_cap;
	bool loss_said;
};

/* Belongs to setup.c until it is up. NULL: no memory. */
struct emu_comm *emu_comm_new(enum emu_role role, const struct emu_config *config,
			      struct emu_faults *faults, const struct emu_nic *nic, int gpu,
			      int index);
/* Makes pool, metadata and the 24 bytes of a receive comm. */
bool emu_comm_receives(struct emu_comm *c);
/* Stops helpers, closes connections, gives back pages. The rest is kept for a while, to
 * recognise late callers. */
enum nccl_result emu_comm_close(struct emu_comm *c);

/* Is @ptr an open comm of the role? Then the caller is inside until emu_comm_leave(), which
 * passes the result on. */
enum nccl_result emu_comm_enter(void *ptr, int role, const char *call, struct emu_comm **c);
enum nccl_result emu_comm_leave(struct emu_comm *c, enum nccl_result result);

struct emu_request *emu_comm_request(struct emu_comm *c, uint64_t seq);
/* A new request at the ring's tail, and its pointer for the caller. */
struct emu_request *emu_comm_post(struct emu_comm *c, struct emu_reg *reg, void *data,
				  uint32_t bytes, void **request);
/* A fault that is meant for this comm and request; NULL: none. */
struct emu_fault *emu_comm_fault(const struct emu_comm *c, enum emu_fault_kind kind, int64_t req);
/* The same of one that happens by being asked for. */
struct emu_fault *emu_comm_fires(const struct emu_comm *c, enum emu_fault_kind kind, int64_t req);
/* The byte of a task on socket @s that a fault names; -1: another socket's, or not in this task.
 * Default: the middle of the request, or of the socket's part. */
int64_t emu_comm_fault_byte(const struct emu_fault *f, const struct emu_socket *s,
			    const struct emu_task *t, uint32_t total);

bool emu_socket_room(const struct emu_socket *s);
/* The next free task; it counts from emu_socket_add() on. */
struct emu_task *emu_socket_task(struct emu_socket *s);
void emu_socket_add(struct emu_comm *c, struct emu_socket *s, uint32_t total);
/* The oldest task finished by its helper, or NULL. */
struct emu_task *emu_socket_moved(struct emu_socket *s);
void emu_socket_taken(struct emu_socket *s);

/* The pages that @len bytes from @src on are in. */
static inline uint32_t
emu_pages(uint32_t src, uint32_t len)
{
	return (src % EMU_PAGE + len + EMU_PAGE - 1) / EMU_PAGE;
}

/* The work of one call of test(). Returns the codes of the real plugin:
 * NCCL_REMOTE_ERROR... */
enum nccl_result emu_send_progress(struct emu_comm *c);
enum nccl_result emu_recv_progress(struct emu_comm *c);
/* Is the oldest TRANSMITTING request done? */
bool emu_send_done(struct emu_comm *c, struct emu_request *r);
bool emu_recv_done(struct emu_comm *c, struct emu_request *r);
enum nccl_result emu_recv_consumed(struct emu_comm *c, uint64_t seq);
/* strict: hash of a send's source now. */
uint64_t emu_send_hash(struct emu_comm *c, const struct emu_request *r);

uint64_t emu_now_ns(void);
/* The index of a send comm whose requests nobody has asked for since @before_ns, once; -1: none. */
int emu_comm_neglected(uint64_t before_ns);

#endif
