/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the software driver, all of it under one lock. */
#ifndef FAKE_LIBCUDA_H
#define FAKE_LIBCUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_api.h"
#include "fake/fakecuda.h"

#define EXPORT	    __attribute__((visibility("default")))
#define DEVICES_MAX 16
#define PAGE_BYTES  4096u
#define DEPTH_MAX   16

#define CALL_ID(name, symbol, params) CALL_##name,
enum call { TCPX_CUDA_REQUIRED(CALL_ID) TCPX_CUDA_OPTIONAL(CALL_ID) CALLS };
#undef CALL_ID

struct CUctx_st {
	int device;
	unsigned retained;
	CUstream null_stream;
};

struct memory {
	struct memory *next;
	uint64_t start, size;
	void *map;    /* NULL: not ours to unmap */
	size_t mapped;
	int device;   /* -1: host memory */
	bool managed, live;
};

/* Seen by query when done reaches recorded. Never freed: work may still name it. */
struct CUevent_st {
	CUevent next;
	uint64_t recorded, done, time_ns;
	bool live;
};

enum kernel { KERNEL_UNPACK, KERNEL_SUM, KERNEL_FILL, KERNEL_CHECK };

struct CUfunc_st {
	enum kernel kernel;
	unsigned threads_max;
	char name[64];
};

#define FUNCTIONS_MAX 8
struct CUmod_st {
	CUmodule next;
	const char *image;
	struct CUfunc_st function[FUNCTIONS_MAX];
	unsigned functions;
	bool live;
};

enum op_kind { OP_COPY, OP_SET, OP_KERNEL, OP_RECORD, OP_WAIT_EVENT, OP_WRITE, OP_WAIT_VALUE };

struct op {
	struct op *next;
	enum op_kind kind;
	uint64_t queued_ns, order; /* of all work */
	uint64_t dst, src, len; /* of a copy; of memory operations: dst, and len the value */
	int byte;
	CUevent event;
	uint64_t seq;
	CUfunction function;
	uint64_t arg[6];
};

struct CUstream_st {
	CUstream next;
	CUcontext context;
	struct op *head, *tail;
	uint64_t free_ns; /* when its last work ended */
	unsigned queue;   /* of its device            */
	bool live;
};

struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* work came, or work was done */
	bool started, held, mute, memops;
	int devices, broken;
	unsigned queues, streams_of[DEVICES_MAX];
	uint64_t order;
	uint64_t delay_ns;
	unsigned allowed; /* works to do though held */
	unsigned errors, calls[CALLS], calls_all;
	enum call fail_call;
	unsigned fail_in; /* 0: none */
	int fail_result;
	struct CUctx_st context[DEVICES_MAX];
	struct memory *memory;
	CUstream streams;
	CUevent events;
	CUmodule modules;
};

extern struct fake fake;

/* Counts the call and takes the lock; a scripted failure: gives it, without the lock. */
CUresult fake_enter(enum call call);
CUresult fake_leave(CUresult result);
#define ENTER(name)                                                                        \
	do {                                                                               \
		CUresult enter_result = fake_enter(CALL_##name);                           \
		if (enter_result != CUDA_SUCCESS)                                          \
			return enter_result;                                               \
	} while (0)
#define LEAVE(result) return fake_leave(result)

/* A mistake of the caller: counted, and said on stderr. Gives @result. */
CUresult fake_mistake(CUresult result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
uint64_t fake_now_ns(void);
/* The current context; NULL, and a mistake, without one. */
CUcontext fake_context(const char *what);

struct memory *fake_memory_at(uint64_t addr);
/* Is [addr, addr + len) whole, live memory? Pageable host memory is, unless @gpu asks. */
bool fake_memory_good(uint64_t addr, uint64_t len, bool gpu, const char *what);

/* The stream's op at the end of it; NULL stream: the context's. Gives the result. */
CUresult fake_queue(CUstream stream, const struct op *op);
CUresult fake_queue_wait(CUstream stream);
void fake_kernel_run(const struct op *op);
void fake_streams_start(void);

#endif
