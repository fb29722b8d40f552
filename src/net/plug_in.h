/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the plugin layer: what its files share. A plug is made once for a library and lives
 * as long as the process; comms belong to whoever drives them.
 */
#ifndef NET_PLUG_IN_H
#define NET_PLUG_IN_H

#include <pthread.h>

#include "net/plug.h"
#include "net/plug_abi.h"

struct plug_device {
	struct plug_props props;
	uint64_t size_max; /* of a message */
};

struct plug {
	struct plug *next;
	void *library;              /* dlopen()'s                                        */
	const struct plug_abi *abi;
	const void *table;          /* the library's, of abi's version                   */
	void *ctx;                  /* v11 and later, while there are users              */
	char *path;
	unsigned users;
	bool ready;                 /* initialised                                       */
	int failed;                 /* initialising it failed, which is for ever         */
	char why[160];              /* likewise                                          */
	int device_count;
	struct plug_device *device;
	/* Given up while the plugin was still connecting them; looked after when others are
	 * made. */
	pthread_mutex_t lock;
	struct plug_listen *lost_listens;
	struct plug_comm *lost_comms;
};

/* A piece of memory that a comm knows. */
struct plug_mr {
	struct plug_mr *next;
	void *mhandle;   /* the plugin's, may be NULL with some */
	uintptr_t at;
	size_t size;
	bool gpu;
	uint32_t in_use; /* by requests that are not done       */
};

struct plug_request {
	void *request;  /* the plugin's                                              */
	uint64_t seq;
	void *mem;
	struct plug_mr *mr;
	uint32_t room;  /* posted                                                    */
	uint32_t len;   /* arrived                                                   */
	void *flush;    /* an iflush() that is under way                             */
	bool landed;    /* test() has said done, and must not be asked again         */
	bool flushed;   /* iflush() was called                                       */
};

struct plug_comm {
	struct plug *plug;
	struct plug_comm *next;     /* of the lost                                        */
	void *comm;                 /* the plugin's; NULL until it stands                 */
	int dev;
	bool sending, unpack;
	bool trying, over;          /* connecting has begun, has ended                    */
	int broken;                 /* why nothing works any more                         */
	/* requests, counted: posted >= done >= consumed; a send is consumed when done */
	uint64_t posted, done, consumed;
	struct plug_request ring[PLUG_REQUESTS];
	struct plug_mr *mrs;
	const struct nccl_unpack_meta *meta;
	uint64_t bounce;
	struct nccl_device_handle *device; /* usually room.device                         */
	/* what the plugin writes to, perhaps later than it says */
	union {
		struct nccl_device_handle device;
		uint8_t bytes[512];
	} room __attribute__((aligned(16)));
	uint8_t handle[PLUG_HANDLE_BYTES] __attribute__((aligned(16)));
};

struct plug_listen {
	struct plug *plug;
	struct plug_listen *next;   /* of the lost                                        */
	void *listen;               /* the plugin's                                       */
	struct plug_comm *comm;     /* being accepted; NULL: taken                        */
};

/* The library's own names, newest first; ended by NULL. */
extern const struct plug_abi *const plug_abis[];

/* What the plugin logs goes to our log, subsystem NET. Neither is ever NULL for a plugin. */
void plug_logger(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
enum nccl_result plug_profiler(void **event, int type, void *parent, int64_t plugin_id,
			       void *data);

/* A plugin's result in our codes: 0; -EAGAIN for "in progress"; never logged. */
int plug_code(enum nccl_result result);
const char *plug_result_text(enum nccl_result result);
/* Logs what was tried of @p, and the result; returns the code. -EAGAIN is not logged. */
int plug_fail(const struct plug *p, enum nccl_result result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Gives up all memory that is registered still. */
void plug_mrs_drop(struct plug_comm *c);
/* Looks for the end of what was given up; called before others are made. */
void plug_lost_poll(struct plug *p);

#endif
