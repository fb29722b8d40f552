/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/channel/heal.h"
#include "core/loop/loop.h"
#include "core/session/session.h"
#include "host/host.h"

struct link_watch {
	struct source source; /* on loop 0 */
	struct tcpx_engine *engine;
	int fd;
	bool was_up[TCPX_NET_NICS]; /* else what the kernel says of it proves nothing */
};

static void
look_at_others(struct nics *n)
{
	bool any = false;

	for (uint32_t i = 0; i < n->other_count; i++) {
		bool gone = !tcpx_link_up_with(n->other[i].name, &n->other[i].addr);

		atomic_store(&n->other[i].gone, gone);
		any |= gone;
	}
	atomic_store(&n->other_gone, any);
}

static void
look(struct link_watch *w)
{
	struct nics *n = &w->engine->nics;
	bool down = n->ctrl.count && !tcpx_link_up_with(n->ctrl.name, &n->ctrl.addr[0]);

	for (uint32_t i = 0; i < n->count; i++) {
		bool up = tcpx_link_up_with(n->at[i].name, &n->at[i].addr);

		w->was_up[i] |= up;
		atomic_store(&n->down[i], !up && w->was_up[i]);
		down |= !up;
	}
	atomic_store(&n->one_down, down);
	look_at_others(n);
}

void
tcpx_links_changed(struct tcpx_engine *e, uint64_t now_ns)
{
	tcpx_chain_each(n, after, &e->registry.served) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		tcpx_heal_hurry(s, now_ns);
		pthread_mutex_unlock(&s->lock);
	}
}

static void
changed(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct link_watch *w = tcpx_container(src, struct link_watch, source);

	if (!tcpx_link_watch_take(w->fd))
		return;
	look(w);
	tcpx_links_changed(w->engine, now_ns);
}

int
tcpx_links_watch(struct tcpx_engine *e)
{
	struct link_watch *w;
	int rc;

	if (!e->ops->poller_watch_fd)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->source.on_ready = changed;
	w->engine = e;
	rc = tcpx_link_watch_open(&w->fd);
	if (rc) {
		tcpx_info(TCPX_SUB_INIT, "no reports on links from the kernel: %s", strerror(-rc));
		free(w);
		return 0;
	}
	e->links = w;
	look(w);
	if (e->ops->poller_watch_fd(e->loop[0].poller, w->fd, &w->source) < 0)
		tcpx_links_unwatch(e); /* logged */
	return 0;
}

void
tcpx_links_unwatch(struct tcpx_engine *e)
{
	if (!e->links)
		return;
	close(e->links->fd);
	free(e->links);
	e->links = NULL;
}
