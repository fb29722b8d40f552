/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing an engine: settings, NICs, provider, loops and listeners. */
#include "core/engine/engine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/random.h"
#include "base/sigpipe.h"
#include "core/context/context.h"
#include "core/engine/advertise.h"
#include "core/engine/bindings.h"
#include "core/engine/links.h"
#include "core/engine/options.h"
#include "core/engine/provider.h"
#include "core/engine/stats.h"
#include "core/engine/step.h"
#include "core/engine/upward.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/loop/queue.h"
#include "core/memory/batch.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/memory/staging.h"
#include "core/session/accept.h"
#include "core/session/gate.h"
#include "core/session/kept.h"
#include "core/session/listen.h"
#include "core/session/note.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane.h"
#include "core/transfer/match.h"
#include "core/transfer/transfer.h"
#include "host/host.h"
#include "seal/secret.h"

#define PAGE_BYTES   4096u
#define PART_TURNS   64u              /* with PART_TURN_NS the patience with a silent peer */
#define PART_TURN_NS ((int64_t)TCPX_MS)

/* An engine and the data of each room (folder of core/), in one allocation. */
struct whole {
	struct tcpx_engine engine;
	struct memory memory;
	struct listeners listeners;
	struct gate gate;
	struct notes notes;
	struct pot pot;
};

/* ---- opening ---- */

static int
name_engine(struct tcpx_engine *e, const char *name)
{
	char host[40] = "host";
	const char *wrong;
	uint64_t r;
	int rc;

	rc = tcpx_random_bytes(&r, sizeof(r));
	if (rc)
		return rc;
	e->incarnation = r ? r : 1;
	if (name && strlen(name) >= sizeof(e->name))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL, "name \"%s\" is longer than %zu bytes", name,
				 sizeof(e->name) - 1);
	if (name && (wrong = tcpx_name_control(name)))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL, "name \"%.*s...\" has the control character 0x%02x, which "
				 "peers refuse", (int)(wrong - name), name, (unsigned char)*wrong);
	if (name) {
		snprintf(e->name, sizeof(e->name), "%s", name);
		return 0;
	}
	gethostname(host, sizeof(host) - 1);
	snprintf(e->name, sizeof(e->name), "%s:%d:%04x", host, (int)getpid(),
		 (unsigned)(r & 0xffff));
	return 0;
}

static int
open_loops(struct tcpx_engine *e)
{
	uint32_t i;
	int rc = 0;

	e->loop = calloc(e->loop_count, sizeof(*e->loop));
	e->memory->batches = calloc(e->loop_count, sizeof(*e->memory->batches));
	if (!e->loop || !e->memory->batches)
		return -ENOMEM;
	for (i = 0; i < e->loop_count && rc == 0; i++) {
		rc = tcpx_loop_init(&e->loop[i], e, i);
		if (rc == 0)
			rc = tcpx_batches_open(&e->loop[i]);
	}
	return rc;
}

/* Threads begin with every signal blocked, because signals belong to the application. */
static int
start_threads(struct tcpx_engine *e)
{
	sigset_t all, old;
	uint32_t i;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < e->loop_count && rc == 0; i++)
		rc = tcpx_loop_start(&e->loop[i]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	for (i = 0; i < e->loop_count && rc == 0; i++)
		tcpx_loop_started(&e->loop[i]);
	return rc;
}

static int
assemble(struct tcpx_engine *e, const struct tcpx_engine_opts *o, const struct engine_env *env)
{
	const char *secret;
	int rc;

	rc = tcpx_cfg_load_system(o->settings, &e->cfg);
	if (rc)
		return rc;
	rc = tcpx_log_setup(tcpx_cfg_str(e->cfg, TCPX_SET_DEBUG),
			    tcpx_cfg_str(e->cfg, TCPX_SET_DEBUG_SUBSYS),
			    tcpx_cfg_str(e->cfg, TCPX_SET_DEBUG_FILE));
	if (rc)
		return rc;
	if (o->log && e->manual) /* no threads, here neither */
		tcpx_log_sink(o->log, o->log_arg);
	else if (o->log) /* a caller's sink beats TCPX_DEBUG_FILE */
		tcpx_log_relay(o->log, o->log_arg);
	e->clock = env ? env->clock : tcpx_clock_system;
	e->host_id = env ? 0 : tcpx_host_id();
	e->events.peers = o->peer_events != 0;
	rc = tcpx_engine_provider(e, env);
	if (rc)
		return rc;
	rc = name_engine(e, o->name);
	if (rc == 0)
		rc = tcpx_engine_nics(e, env);
	if (rc == 0)
		rc = tcpx_engine_advertise(e);
	if (rc == 0)
		rc = tcpx_bind_open(e);
	secret = tcpx_cfg_str(e->cfg, TCPX_SET_SECRET_FILE);
	if (rc == 0 && secret[0] && !(env && env->secret))
		rc = tcpx_secret_open(secret, &e->own_secret);
	e->secret = env && env->secret ? env->secret : e->own_secret;
	if (rc == 0) {
		struct tcpx_device_params host = { .clock = &e->clock,
						   .test_arg = env ? env->device_arg : NULL };

		e->memory->host_ops = env && env->device ? env->device : &tcpx_device_host;
		rc = e->memory->host_ops->open(&host, &e->memory->host);
	}
	if (rc == 0)
		rc = tcpx_engine_net(e, env);
	if (rc == 0)
		rc = open_loops(e);
	if (rc == 0)
		rc = tcpx_listen_open(e, o->listen);
	if (rc == 0 && !e->manual)
		rc = start_threads(e);
	if (rc == 0 && !e->manual)
		rc = tcpx_stats_open(e);
	if (rc == 0 && !e->manual)
		rc = tcpx_links_watch(e);
	return rc;
}

/* A page that is zero in a forked child: a look at it needs no system call. */
static int
mark_process(struct tcpx_engine *e)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return tcpx_fail_errno(TCPX_SUB_INIT, "a page for the engine");
	if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) < 0)
		tcpx_debug(TCPX_SUB_INIT, "a forked child can disturb this engine: no MADV_WIPEONFORK");
	e->here = page;
	atomic_store(e->here, 1);
	return 0;
}

int
tcpx_engine_open(const struct tcpx_engine_opts *opts, const struct engine_env *env,
		 struct tcpx_engine **out)
{
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	struct whole *w;
	struct tcpx_engine *e;
	int rc;

	if (opts && (opts->struct_size < sizeof(size_t) || opts->struct_size > sizeof(o)))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL,
				 "tcpx_engine_opts of %zu bytes, this library knows %zu",
				 opts->struct_size, sizeof(o));
	if (opts)
		memcpy(&o, opts, opts->struct_size);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	tcpx_log_hold();
	e = &w->engine;
	e->up = tcpx_upward;
	e->memory = &w->memory;
	e->listeners = &w->listeners;
	e->gate = &w->gate;
	e->notes = &w->notes;
	e->pot = &w->pot;
	e->events.fd = -1;
	tcpx_node_init(&e->events.queue);
	e->manual = env && env->manual;
	tcpx_mutex_init(&e->registry.lock);
	tcpx_mutex_init(&e->events.lock);
	tcpx_notes_open(e);
	tcpx_kept_open(e);
	tcpx_mutex_init(&e->gate->lock);
	rc = tcpx_peers_init(&e->registry);
	tcpx_node_init(&e->registry.sessions);
	tcpx_node_init(&e->registry.xfers);
	tcpx_node_init(&e->registry.lists);
	tcpx_node_init(&e->registry.lanes);
	tcpx_tags_init(&e->registry.listening);
	tcpx_node_init(&e->registry.served);
	tcpx_node_init(&e->registry.to_flush);
	tcpx_node_init(&e->listeners->pending);
	tcpx_node_init(&e->listeners->half_open);
	tcpx_release_init(e);
	tcpx_gpus_init(e, env ? env->gpu : NULL);
	e->memory->gpu_arg = env ? env->gpu_arg : NULL;
	if (rc == 0)
		rc = mark_process(e);
	if (rc == 0)
		rc = tcpx_regions_init(&e->memory->regions);
	if (rc == 0)
		rc = tcpx_touch_open(&e->memory->touch, TOUCH_SMALL);
	if (rc == 0)
		rc = assemble(e, &o, env);
	if (rc) {
		tcpx_close(e);
		return rc;
	}
	tcpx_info(TCPX_SUB_INIT, "engine %s: provider %s, %u NICs, %u channels, %u I/O threads",
		  e->name, e->ops->name, e->nics.count, e->limit.channels, e->loop_count);
	*out = e;
	return 0;
}

int
tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine)
{
	return tcpx_engine_open(opts, NULL, engine);
}

/* ---- closing ---- */

static void
fail_sessions(struct tcpx_engine *e)
{
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		tcpx_session_fail(s, TCPX_ECLOSED, "engine %s closed", e->name);
		pthread_mutex_unlock(&s->lock);
	}
}

static bool
quiet(struct tcpx_engine *e)
{
	bool empty;

	pthread_mutex_lock(&e->registry.lock);
	empty = tcpx_chain_empty(&e->registry.sessions);
	pthread_mutex_unlock(&e->registry.lock);
	return empty;
}

static void
wake_sessions(struct tcpx_engine *e)
{
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s)))
		tcpx_session_wake_loop(s);
}

/* The threads are gone: this thread runs the loops until every session is freed. A session stays
 * until its peer's kernel has BYE, for PART_TURNS at most. Then only connections are closed, so a few
 * turns are enough. */
static void
drain(struct tcpx_engine *e)
{
	uint32_t turn;

	for (turn = 0; turn < PART_TURNS && !quiet(e); turn++) {
		wake_sessions(e);
		tcpx_engine_turn(e, 0);
		if (!quiet(e))
			tcpx_engine_turn(e, PART_TURN_NS);
	}
	atomic_store(&e->parting, false);
	wake_sessions(e);
	for (turn = 0; turn < 64 && !quiet(e); turn++)
		tcpx_engine_turn(e, 0);
}

static void
end_receives(struct tcpx_engine *e)
{
	struct tcpx_node *n;
	struct tcpx_peer *p;
	bool waiting;

	for (;;) {
		pthread_mutex_lock(&e->registry.lock);
		p = NULL;
		for (n = e->registry.peers.next; n != &e->registry.peers && !p; n = n->next) {
			p = tcpx_container(n, struct tcpx_peer, in_engine);
			waiting = tcpx_match_waits(p);
			if (waiting)
				tcpx_peer_get(p);
			if (!waiting)
				p = NULL;
		}
		pthread_mutex_unlock(&e->registry.lock);
		if (!p)
			return;
		tcpx_match_fail(p, TCPX_ECLOSED, "closed by this engine");
		tcpx_peer_put(p);
	}
}

static void
close_net(struct tcpx_engine *e)
{
	struct tcpx_sigpipe sigpipe;

	tcpx_sigpipe_hold(&sigpipe);
	e->ops->close(e->net);
	tcpx_sigpipe_release(&sigpipe, true);
}

void
tcpx_close(tcpx_engine *e)
{
	uint32_t i;

	if (!e || !engine_is_here(e))
		return;
	atomic_store(&e->stopping, true);
	atomic_store(&e->parting, true);
	atomic_store(&e->closing, true);
	if (e->loop) {
		fail_sessions(e);
		for (i = 0; i < e->loop_count; i++)
			tcpx_loop_stop(&e->loop[i]);
		end_receives(e);
		if (e->loop[0].poller)
			tcpx_accept_close_all(&e->loop[0]); /* they become no sessions from here on */
		fail_sessions(e); /* accepted meanwhile */
		drain(e);
	}
	tcpx_stats_close(e);
	tcpx_release_close(e);
	tcpx_links_unwatch(e);
	for (i = 0; i < e->listeners->count; i++)
		e->ops->stream_close(e->listeners->at[i].listener);
	for (i = 0; e->loop && i < e->loop_count; i++) {
		tcpx_batches_fini(&e->loop[i]);
		tcpx_loop_fini(&e->loop[i]);
	}
	if (e->net && !e->memory->slots_left)
		close_net(e);
	tcpx_staging_close(e);
	free(e->loop);
	free(e->memory->batches);
	tcpx_queue_close(e);
	/* handles that the application kept; they may hold words of the GPUs' */
	tcpx_chain_each(m, after2, &e->registry.xfers) {
		tcpx_chain_remove(m);
		tcpx_xfer_put(tcpx_container(m, struct tcpx_xfer, handle));
	}
	tcpx_chain_each(o, after4, &e->registry.lanes) {
		tcpx_chain_remove(o);
		tcpx_lane_put(tcpx_container(o, struct tcpx_lane, handle));
	}
	tcpx_tags_fini(&e->registry.listening);
	tcpx_regions_unlock(e);
	tcpx_gpus_fini(e);
	if (e->memory->host)
		e->memory->host_ops->close(e->memory->host);
	tcpx_notes_close(e->notes);
	tcpx_chain_each(k, after3, &e->registry.lists) {
		tcpx_chain_remove(k);
		tcpx_list_put(tcpx_container(k, struct tcpx_list, handle));
	}
	tcpx_peers_fini(&e->registry);
	tcpx_kept_close(e);
	if (e->events.fd >= 0)
		close(e->events.fd);
	tcpx_regions_fini(&e->memory->regions);
	tcpx_touch_rooms_close(e);
	tcpx_touch_close(&e->memory->touch);
	tcpx_secret_close(e->own_secret);
	tcpx_bind_close(e);
	tcpx_cfg_free(e->cfg);
	pthread_mutex_destroy(&e->memory->release.lock);
	pthread_mutex_destroy(&e->registry.lock);
	pthread_mutex_destroy(&e->events.lock);
	pthread_mutex_destroy(&e->notes->lock);
	pthread_mutex_destroy(&e->gate->lock);
	if (e->here)
		munmap(e->here, PAGE_BYTES);
	free(tcpx_container(e, struct whole, engine));
	tcpx_log_release();
}

static bool
nothing_open(void *arg)
{
	struct tcpx_engine *e = arg;
	struct session *s = NULL;
	uint32_t busy = 0, changes = atomic_load(&e->changes.count);

	while ((s = tcpx_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		busy += session_busy(s);
		pthread_mutex_unlock(&s->lock);
	}
	/* what was posted with one may have moved to another, which had been looked at */
	return busy == 0 && atomic_load(&e->changes.count) == changes;
}

int
tcpx_close_wait(tcpx_engine *e, int timeout_ms)
{
	int rc = 0;

	if (!e)
		return 0;
	if (engine_check(e))
		return TCPX_ESTATE;
	atomic_store(&e->stopping, true);
	if (tcpx_lease_wait(&e->loop[0], nothing_open, e, &e->changes.count, &e->changes.sleepers,
			    timeout_ms) != 0)
		rc = tcpx_fail(TCPX_SUB_INIT, TCPX_ETIMEDOUT,
			       "transfers were open after %d ms: the engine was closed", timeout_ms);
	tcpx_close(e);
	return rc;
}
