/* SPDX-License-Identifier: Apache-2.0 */
#include "nic_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/session/session.h"

const char *const lab_settings[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
				     "TCPX_DEBUG=WARN", NULL };

static void
remember(void *arg, int level, const char *line)
{
	struct lab *t = arg;

	if (level != 2)
		return;
	snprintf(t->last, sizeof(t->last), "%s", line);
	t->stalled += strstr(line, "ESTALLED") != NULL;
	t->warnings++;
}

static tcpx_engine *
lab_engine(struct lab *t, int i, const struct tcpx_net_ops *net, const char *const *settings)
{
	struct engine_env env = { .clock = *tcpx_fabric_clock(t->fabric), .net = net,
				  .fabric = t->fabric, .manual = true, .nics = t->nic[i],
				  .nic_count = NICS };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = i ? "bert" : "anna";
	opts.settings = settings;
	opts.log = remember;
	opts.log_arg = t;
	for (int n = 0; n < NICS; n++) {
		t->nic[i][n] = (struct tcpx_nic){ .numa = -1,
						  .addr = { .family = 4, .prefix = 24,
							    .ip = { 10, (uint8_t)n, 0,
								    (uint8_t)(i + 1) } } };
		snprintf(t->nic[i][n].name, sizeof(t->nic[i][n].name), "eth%d", n);
	}
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	return e;
}

static void
lab_make(struct lab *t, const struct tcpx_net_ops *net, const char *const *of_a,
	 const char *const *of_b, const struct tcpx_fabric_script *script)
{
	memset(t, 0, sizeof(*t));
	t->fabric = tcpx_fabric_new(7, script);
	assert_non_null(t->fabric);
	t->a = lab_engine(t, 0, net, of_a);
	t->b = lab_engine(t, 1, net, of_b);
}

void
lab_open_on(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings,
	    const struct tcpx_fabric_script *script)
{
	lab_make(t, net, settings, settings, script);
}

void
lab_open_two(struct lab *t, const struct tcpx_net_ops *net, const char *const *of_a,
	     const char *const *of_b)
{
	lab_make(t, net, of_a, of_b, NULL);
}

void
lab_open(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings)
{
	lab_open_on(t, net, settings, NULL);
}

void
lab_close(struct lab *t)
{
	tcpx_peer_free(t->p);
	tcpx_close(t->a);
	tcpx_close(t->b);
	assert_string_equal(tcpx_fabric_violation(t->fabric), "");
	tcpx_fabric_free(t->fabric);
	tcpx_log_sink(NULL, NULL);
}

void
lab_restart(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings)
{
	tcpx_close(t->b);
	t->b = lab_engine(t, 1, net, settings);
}

void
lab_restart_opener(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings)
{
	tcpx_peer_free(t->p);
	t->p = NULL;
	tcpx_close(t->a);
	t->a = lab_engine(t, 0, net, settings);
}

bool
run_until(struct lab *t, bool (*done)(void *), void *arg, uint64_t limit_ns)
{
	uint64_t end_ns = tcpx_fabric_now(t->fabric) + limit_ns, next, at[2], seen;

	while (!done(arg)) {
		seen = tcpx_fabric_activity(t->fabric);
		for (int i = 0; i < 3; i++) {
			tcpx_engine_step(t->a);
			tcpx_engine_step(t->b);
		}
		if (tcpx_fabric_activity(t->fabric) != seen)
			continue;
		if (tcpx_fabric_now(t->fabric) >= end_ns)
			return done(arg);
		next = tcpx_fabric_next_ns(t->fabric);
		at[0] = tcpx_engine_timer(t->a);
		at[1] = tcpx_engine_timer(t->b);
		next = at[0] < next ? at[0] : next;
		next = at[1] < next ? at[1] : next;
		if (next <= tcpx_fabric_now(t->fabric))
			next = tcpx_fabric_now(t->fabric) + 1000;
		tcpx_fabric_advance(t->fabric, next < end_ns ? next : end_ns);
	}
	return true;
}

uint64_t
run_alone(struct lab *t, tcpx_engine *e, bool (*done)(void *), void *arg, uint64_t limit_ns)
{
	uint64_t begin_ns = tcpx_fabric_now(t->fabric), next, at;

	for (;;) {
		for (int i = 0; i < 3; i++)
			tcpx_engine_step(e);
		if (done(arg) || tcpx_fabric_now(t->fabric) >= begin_ns + limit_ns)
			return tcpx_fabric_now(t->fabric) - begin_ns;
		next = tcpx_fabric_next_ns(t->fabric);
		at = tcpx_engine_timer(e);
		next = at < next ? at : next;
		if (next <= tcpx_fabric_now(t->fabric))
			next = tcpx_fabric_now(t->fabric) + 1000;
		tcpx_fabric_advance(t->fabric, next < begin_ns + limit_ns ? next :
				    begin_ns + limit_ns);
	}
}

struct tcpx_peer_info
lab_info(struct lab *t)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_peer_query(t->p, &info));
	return info;
}

bool
is_decided(void *arg)
{
	return lab_info(arg).status != -EAGAIN;
}

bool
is_whole(void *arg)
{
	struct tcpx_peer_info info = lab_info(arg);

	return info.channels_tx == 4 && info.channels_rx == 4;
}

struct session *
session_of(tcpx_engine *e)
{
	return tcpx_container(e->registry.sessions.next, struct session, in_engine);
}

bool
over(void *arg)
{
	return tcpx_test(arg) != -EAGAIN;
}

bool
never(void *arg)
{
	(void)arg;
	return false;
}

void
meet(struct lab *t)
{
	t->p = rig_add(t->a, t->b);
	assert_true(run_until(t, is_decided, t, 10 * TCPX_SEC));
}

void
lab_move_begin(struct lab *t, struct move *m)
{
	struct tcpx_desc l = { 0, 0, MOVE_BYTES }, f = l;

	mem_open(&m->from, t->a, MOVE_BYTES, TCPX_MEM_LOCAL);
	mem_open(&m->to, t->b, MOVE_BYTES, TCPX_MEM_REMOTE_WRITE);
	fill(m->from.at, MOVE_BYTES, 1);
	fill(m->to.at, MOVE_BYTES, 2);
	l.region = m->from.id;
	f.region = mem_tell(&m->to, t->b, t->a);
	assert_ok(tcpx_write(t->p, &l, 1, &f, 1, NULL, 0, &m->x));
}

void
lab_move_end(struct move *m)
{
	assert_ok(tcpx_test(m->x));
	assert_filled(m->to.at, MOVE_BYTES, 1);
	tcpx_xfer_free(m->x);
	mem_close(&m->from);
	mem_close(&m->to);
}
