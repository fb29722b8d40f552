/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the plugin layer share. A plug is made once for a library and lives as
 * long as the process. A comm belongs to the thread that drives it.
 */
#ifndef NET_PLUGIN_INSIDE_H
#define NET_PLUGIN_INSIDE_H

#include <pthread.h>

#include "net/plugin/abi.h"
#include "net/plugin/plug.h"

struct plug_device {
	struct plug_props props;
};

struct plug {
	struct plug *next;
	void *library;              /* dlopen()'s                                        */
	const struct plug_abi *abi;
	const void *table;          /* that the library exports, of abi's version        */
	void *ctx;                  /* v11 and later, while there are users              */
	char *path;
	unsigned users;
	bool ready;                 /* initialised                                       */
	int failed;                 /* the code of its failed init(), which is final     */
	char why[400];              /* the failure in words                              */
	int device_count;
	struct plug_device *device;
	/* Given up while the plugin was still connecting them; plug_lost_poll() ends them. */
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
	bool landed;    /* test() has returned done and must not be called again      */
	bool flushed;   /* iflush() was called                                       */
};

struct plug_comm {
	struct plug *plug;
	struct plug_comm *next;     /* in the list of lost ones                           */
	void *comm;                 /* the plugin's; NULL until it stands                 */
	int dev;
	bool sending, unpack;
	bool trying, over;          /* connecting has begun, has ended                    */
	int broken;                 /* the code that broke it; every call returns it      */
	/* requests, counted: posted >= done >= consumed; a send is consumed when done */
	uint64_t posted, done, consumed;
	struct plug_request ring[PLUG_REQUESTS];
	struct plug_mr *mrs;
	const struct nccl_unpack_meta *meta;
	uint64_t bounce;
	struct nccl_device_handle *device; /* usually room.device                         */
	/* the plugin writes to it, perhaps after accept() has returned */
	union {
		struct nccl_device_handle device;
		uint8_t bytes[512];
	} room __attribute__((aligned(16)));
	uint8_t handle[PLUG_HANDLE_BYTES] __attribute__((aligned(16)));
};

struct plug_listen {
	struct plug *plug;
	struct plug_listen *next;   /* in the list of lost ones                           */
	void *listen;               /* the plugin's                                       */
	struct plug_comm *comm;     /* being accepted; NULL: taken                        */
};

/* The plugin's own name; never NULL. */
static inline const char *
plug_own_name(const struct plug *p)
{
	const char *name = p->abi->name(p->table);

	return name ? name : "unnamed";
}

#endif
