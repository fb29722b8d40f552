/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: everything of one endpoint, and the values of its settings. */
#ifndef CORE_ENGINE_H
#define CORE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cfg.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "core/gpu.h"
#include "core/list.h"
#include "core/loop.h"
#include "core/note.h"
#include "device/device.h"
#include "net/net.h"
#include "proto/netmap.h"
#include "tcpx/tcpx.h"

struct auth;
struct session;
struct stats;

struct counters {
	_Atomic uint64_t bytes_tx, bytes_rx, chunks_tx, chunks_rx, xfers_posted, xfers_done,
		xfers_failed, notes_tx, notes_rx, notes_dropped, ctrl_frames_tx, ctrl_frames_rx,
		ctrl_resumes, channels_lost, chunks_resent, stalls, refused, queue_ns, wire_ns,
		ack_ns, unpack_ns, lease_borrows;
};

/* Payload over one NIC, of channels that are gone, too. */
struct nic_count {
	_Atomic uint64_t bytes_tx, bytes_rx, stalls;
	_Atomic uint64_t retransmits; /* of channels that are gone only: others are asked */
};

/* Values of settings that the data path needs. */
struct limits {
	uint32_t channels, window, inline_bytes, credit_xfers;
	uint32_t chunk;     /* as set; 0: by the size of each transfer               */
	uint32_t chunk_max; /* offered to peers                                      */
	uint32_t slots_max; /* of the provider; 0: no limit                           */
	uint64_t credit_list, staging;
	enum tcpx_unpack_impl unpack;
	enum tcpx_lend lend;
	uint64_t connect_ns, handshake_ns, stall_ns, keepalive_ns, linger_ns;
	bool strict_nics, round_robin;
	uint64_t spin_ns;
};

/* What engine_open is given beyond the public options; see sim.h. */
struct engine_env {
	struct tcpx_clock clock;
	const struct tcpx_net_ops *net;
	void *fabric;
	const struct tcpx_device_ops *device;
	void *device_arg;
	const struct tcpx_device_ops *gpu; /* NULL: the driver */
	void *gpu_arg;
	bool manual; /* no threads: tcpx_engine_step() drives */
	const struct tcpx_nic *nics;
	uint32_t nic_count;
};

struct listening {
	struct source source;
	struct tcpx_engine *engine;
	struct tcpx_listener *listener;
	struct tcpx_addr bound;
};

struct tcpx_engine {
	struct tcpx_cfg *cfg;
	struct tcpx_clock clock;
	const struct tcpx_net_ops *ops;
	struct tcpx_net *net;
	struct tcpx_net_memory memory; /* the provider's slots */
	const struct tcpx_device_ops *dev_ops;
	struct tcpx_device *dev; /* host memory */
	struct gpus gpus;
	void *gpu_arg;
	_Atomic uint32_t eventful; /* transfers that wait for a caller's event         */
	uint8_t *staging;        /* pinned: all loops' slots; NULL: none needed so far */
	const struct tcpx_device_ops *staging_ops;
	struct tcpx_device *staging_dev;
	uint32_t staging_slots;  /* a loop and direction */
	struct auth *auth; /* NULL: no secret */
	struct limits limit;
	char name[TCPX_NAME_MAX];
	uint64_t incarnation;
	struct tcpx_nic nic[TCPX_NET_NICS];
	struct tcpx_netmap_offer offer[TCPX_NET_NICS]; /* with OWN_SLOTS: what each is for */
	uint32_t nic_count;
	struct tcpx_cpuset *bind;  /* CPUs for each NIC; NULL: no bindings */
	struct listening listening[TCPX_NET_NICS];
	uint32_t listening_count;
	struct loop *loop;
	uint32_t loop_count;
	bool manual;
	_Atomic bool stopping;    /* no new transfers; those open may end */
	_Atomic bool closing;     /* nothing new at all                   */
	pthread_mutex_t lock; /* peers, sessions */
	struct tcpx_node peers, sessions;
	struct tcpx_node xfers, lists; /* handles that the application holds */
	_Atomic uint32_t session_count;
	struct regions regions;
	struct notes notes;
	struct counters count;
	struct nic_count nic_count_of[TCPX_NET_NICS];
	_Atomic uint64_t copied[TCPX_FLOWS][CORE_PLACES]; /* bytes that devices were given */
	struct stats *stats;      /* NULL: nobody can ask */
	_Atomic uint32_t bell;    /* futex: some session changed state */
	_Atomic int bell_sleepers;
	pthread_mutex_t event_lock; /* event_raised, making event_fd */
	_Atomic int event_fd;     /* -1 until asked for */
	bool event_raised;
	_Atomic int64_t unobserved; /* ends not tested yet */
};

static inline void
count_add(_Atomic uint64_t *c, uint64_t v)
{
	atomic_fetch_add_explicit(c, v, memory_order_relaxed);
}

static inline uint64_t
engine_now(const struct tcpx_engine *e)
{
	return tcpx_clock_now(&e->clock);
}

/* Payload from this list is packed into a slot before it is sent. */
static inline bool
engine_packs(const struct tcpx_engine *e, const struct tcpx_list *l)
{
	return list_staged(l) || !(e->ops->caps & TCPX_NET_DIRECT_TX);
}

/* ---- options.c ---- */
void tcpx_engine_limits(struct tcpx_engine *e);
/* NICs by the setting, or as a test gives them; then threads and channels by the plan. */
int tcpx_engine_nics(struct tcpx_engine *e, const struct engine_env *env);

/* ---- mapping.c ---- */
/* With OWN_SLOTS: which NICs are of use to the engine's GPU, and by way of which GPU. */
int tcpx_engine_map(struct tcpx_engine *e);

/* ---- provider.c ---- */
/* Which one, by the setting or as a test gives it; nothing is opened. */
int tcpx_engine_provider(struct tcpx_engine *e, const struct engine_env *env);
/* Opens it. What it allows may be less than what was set. */
int tcpx_engine_net(struct tcpx_engine *e, const struct engine_env *env);

/* ---- guest.c ---- */
int tcpx_guest_listen(struct tcpx_engine *e, const char *listen_text);
void tcpx_guest_timer(struct loop *l, uint64_t now_ns);
void tcpx_guest_close_all(struct loop *l);

/* ---- auth.c ---- */
int tcpx_auth_open(const char *secret_file, struct auth **out);
void tcpx_auth_close(struct auth *a);
void tcpx_auth_mac(const struct auth *a, const void *data, size_t len, uint8_t mac[32]);
bool tcpx_bytes_equal(const void *a, const void *b, size_t len); /* constant time */

/* ---- engine.c ---- */
int tcpx_engine_open(const struct tcpx_engine_opts *opts, const struct engine_env *env,
		     struct tcpx_engine **out);
void tcpx_engine_bell(struct tcpx_engine *e);
/* Walks the sessions without memory of its own, since a walk must not fail: NULL gives the
 * first, a session the one behind it; takes over that reference, returns one. A session that
 * goes away during a walk may make it begin anew: callers do nothing that twice is wrong. */
struct session *tcpx_engine_session_after(struct tcpx_engine *e, struct session *s);

#endif
