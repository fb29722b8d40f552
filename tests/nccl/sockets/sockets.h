/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How NCCL's own socket transport moves messages, as a net plugin: the baseline where there is no
 * GPU. A comm is a control socket, and data sockets with a helper thread for some of them each. By
 * default there are none: then the thread that tests does every send() and recv() on the control
 * socket. Messages of a comm have to be tested in order, as NCCL does.
 */
#ifndef TESTS_NCCL_SOCKETS_H
#define TESTS_NCCL_SOCKETS_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

enum {
	NICS_MAX = 16,
	SOCKETS_MAX = 64,
	HELPERS_MAX = 16,
	REQUESTS = 32,
	INLINE_BYTES = 128,     /* at most, with the size of a message                       */
	TASK_BYTES = 64 << 10,  /* at least, but the last of a message                       */
};

struct nic {
	char name[16];
	struct sockaddr_in addr;
	int mbps;
};

/* ---- moving ---------------------------------------------------------------------- */

struct comm;

/* A part of a message on one data socket; its helper moves it. */
struct task {
	atomic_bool used;
	uint8_t *data;
	size_t len;
	_Atomic size_t offset;
	_Atomic enum nccl_result result;
	int fd;
};

struct helper {
	struct comm *comm;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned posted;        /* tasks, ever; under the lock                               */
	bool stop;
	unsigned len, next;
	struct task *task;      /* REQUESTS for each of its sockets                          */
};

struct request {
	struct comm *comm;
	enum { FREE, SIZE, DATA } stage;
	uint8_t *data;
	size_t len, offset;     /* a receive's @len is its room until its SIZE has come      */
	uint8_t head[sizeof(int) + INLINE_BYTES];
	size_t moved;           /* of @head and what is inline                               */
	struct task *task[SOCKETS_MAX];
	unsigned tasks;
};

struct comm {
	bool sends, broken;
	unsigned sockets, helpers;
	unsigned next;                  /* data socket of the next task          */
	unsigned first;                 /* request where a free one is looked for */
	int ctrl, fd[SOCKETS_MAX];
	struct request request[REQUESTS];
	struct helper helper[HELPERS_MAX];
};

enum nccl_result sockets_post(void *comm, void *data, size_t size, void **request);
enum nccl_result sockets_test(void *request, int *done, int *size);
/* In any state. */
enum nccl_result sockets_close(void *comm);

/* ---- connecting ------------------------------------------------------------------ */

/* "" and the NIC; NULL: there is none. */
const struct nic *sockets_nic(int dev);
enum nccl_result sockets_devices(int *count);
struct comm *sockets_comm_new(bool sends, unsigned sockets, unsigned helpers);

enum nccl_result sockets_listen(void *ctx, int dev, void *handle, void **listen_comm);
enum nccl_result sockets_connect(void *handle, void **send_comm);
enum nccl_result sockets_accept(void *listen_comm, void **recv_comm);
enum nccl_result sockets_close_listen(void *listen_comm);

/* A WARN line of NCCL's log. */
void sockets_log_to(nccl_logger logger);
void sockets_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
