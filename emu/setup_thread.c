/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting, in a thread: the control connection, then data connections from the last to
 * the first. For each the acceptor "programs a rule" and reports it on the control
 * connection. The connecting side is ready before the accepting one.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emu/say.h"
#include "emu/setup.h"
#include "emu/wire.h"

#define SOCKET_DELAY_NS 100000000u /* both sides sleep this long before each connection */

enum rule { RULE_OK, RULE_EXHAUSTED };

static struct emu_patience
patience(struct emu_comm *c, uint64_t ms)
{
	return (struct emu_patience){ ms ? emu_now_ns() + ms * 1000000u : 0, &c->stop };
}

/* Delay of a fault: later, or given early and connected later. */
static void
delay(struct emu_comm *c, const struct emu_patience *p)
{
	static const enum emu_fault_kind kinds[] = { EMU_FAULT_SETUP_DELAY, EMU_FAULT_EARLY_COMM };

	for (unsigned i = 0; i < 2; i++) {
		const struct emu_fault *f = emu_comm_fires(c, kinds[i], EMU_ANY);

		if (f)
			emu_wire_sleep((uint64_t)f->ms * 1000000u, p);
	}
}

static void
pause_real(const struct emu_comm *c, const struct emu_patience *p)
{
	if (c->config->delays)
		emu_wire_sleep(SOCKET_DELAY_NS, p);
}

/* ---- connecting --------------------------------------------------------------------------- */

static int
dial_one(struct emu_comm *c, const struct emu_handle *to, uint32_t index,
	 const struct emu_patience *p)
{
	struct emu_hello hello = { EMU_HELLO_MAGIC, index, to->nonce };
	bool ctrl = index == EMU_CTRL_INDEX;
	int fd;

	pause_real(c, p);
	fd = emu_wire_dial(ctrl ? &to->ctrl : &to->data, ctrl ? NULL : &c->nic->addr, p);
	if (fd >= 0 && !emu_wire_write(fd, &hello, sizeof(hello), p)) {
		close(fd);
		return -1;
	}
	return fd;
}

static enum nccl_result
dial_failed(const struct emu_comm *c)
{
	if (errno != ECANCELED)
		emu_warn("[connect] send comm %d from %s: %m", c->index, c->nic->name);
	return NCCL_SYSTEM_ERROR;
}

/* Of the fault: attempts at a port of ours that nobody listens on, 1 ms apart as the real plugin's. */
static void
refusals(struct emu_comm *c, const struct emu_patience *p)
{
	struct emu_fault *f = emu_comm_fault(c, EMU_FAULT_CONNECT_REFUSED, EMU_ANY);

	for (int64_t i = 0; f && i < f->n && emu_wire_refused(c->nic->addr, p); i++) {
		emu_info("send comm %d: connection refused, %lld of %lld", c->index, (long long)i + 1,
			 (long long)f->n);
		emu_fault_fired(f);
		emu_wire_sleep(1000000, p);
	}
}

static enum nccl_result
dial_all(struct emu_comm *c, const struct emu_handle *to)
{
	struct emu_patience p = patience(c, c->config->connect_ms);
	const struct emu_fault *error = emu_comm_fires(c, EMU_FAULT_CONNECT_ERROR, EMU_ANY);
	uint32_t rule;

	delay(c, &p);
	if (error)
		return (enum nccl_result)error->n;
	refusals(c, &p);
	if (strcmp(to->network, c->nic->network)) {
		emu_wire_sleep((uint64_t)c->config->connect_ms * 1000000u, &p);
		errno = ETIMEDOUT;
		return dial_failed(c);
	}
	c->ctrl.fd = dial_one(c, to, EMU_CTRL_INDEX, &p);
	if (c->ctrl.fd < 0)
		return dial_failed(c);
	for (unsigned i = c->sockets; i-- > 0;) {
		c->socket[i].fd = dial_one(c, to, i, &p);
		if (c->socket[i].fd < 0 || !emu_wire_read(c->ctrl.fd, &rule, sizeof(rule), &p))
			return dial_failed(c);
		if (rule != RULE_OK) {
			emu_warn("[rules-exhausted] send comm %d: the peer has no flow rule left",
				 c->index);
			return NCCL_INTERNAL_ERROR;
		}
	}
	return NCCL_OK;
}

void *
emu_setup_dial(void *arg)
{
	struct emu_dial *d = arg;
	enum nccl_result result = dial_all(d->wait.comm, &d->to);

	atomic_store(&d->wait.comm->up, result ? -(int)result : 1);
	return NULL;
}

/* ---- accepting ---------------------------------------------------------------------------- */

/* The next connection of our peer; others are closed. */
static int
accept_one(struct emu_comm *c, const struct emu_listen_comm *l, int fd, uint32_t *index)
{
	struct emu_patience p = patience(c, 0), soon;
	struct emu_hello hello;
	int got;

	while ((got = emu_wire_accept(fd, &p)) >= 0) {
		soon = patience(c, 5000);
		if (emu_wire_read(got, &hello, sizeof(hello), &soon) &&
		    hello.magic == EMU_HELLO_MAGIC && hello.nonce == l->nonce) {
			*index = hello.index;
			return got;
		}
		close(got);
	}
	return -1;
}

static bool
rule_program(struct emu_comm *c, const struct emu_patience *p)
{
	uint32_t rule = RULE_OK;

	if (emu_comm_fires(c, EMU_FAULT_RULES_EXHAUSTED, EMU_ANY)) {
		rule = RULE_EXHAUSTED;
		emu_warn("[rules-exhausted] receive comm %d: no flow rule is left", c->index);
	}
	return emu_wire_write(c->ctrl.fd, &rule, sizeof(rule), p) && rule == RULE_OK;
}

/* Bytes received by now came before the rules were active: they are not in the pool. */
static void
rules_activate(struct emu_comm *c, const struct emu_patience *p)
{
	const struct emu_fault *late = emu_comm_fires(c, EMU_FAULT_RULE_LATE, EMU_ANY);
	int waiting;

	if (c->config->delays)
		emu_wire_sleep(c->config->steering_us * 1000ull, p);
	if (late)
		emu_wire_sleep((uint64_t)late->ms * 1000000u, p);
	for (unsigned i = 0; i < c->sockets && (late || c->config->steering_check); i++) {
		waiting = 0;
		ioctl(c->socket[i].fd, FIONREAD, &waiting);
		c->socket[i].early = waiting > 0;
	}
}

static enum nccl_result
accept_all(struct emu_comm *c, const struct emu_listen_comm *l)
{
	struct emu_patience p = patience(c, 0);
	const struct emu_fault *error = emu_comm_fires(c, EMU_FAULT_ACCEPT_ERROR, EMU_ANY);
	uint32_t index;

	delay(c, &p);
	if (error)
		return (enum nccl_result)error->n;
	pause_real(c, &p);
	c->ctrl.fd = accept_one(c, l, l->ctrl_fd, &index);
	if (c->ctrl.fd < 0)
		return NCCL_SYSTEM_ERROR;
	for (unsigned i = c->sockets; i-- > 0;) {
		int fd;

		pause_real(c, &p);
		fd = accept_one(c, l, l->data_fd, &index);
		if (fd < 0)
			return NCCL_SYSTEM_ERROR;
		if (index >= c->sockets || c->socket[index].fd >= 0) {
			close(fd);
			return NCCL_SYSTEM_ERROR;
		}
		c->socket[index].fd = fd;
		if (!rule_program(c, &p))
			return NCCL_INTERNAL_ERROR;
	}
	rules_activate(c, &p);
	return NCCL_OK;
}

void *
emu_setup_accept(void *arg)
{
	struct emu_listen_comm *l = arg;
	enum nccl_result result = accept_all(l->wait.comm, l);

	atomic_store(&l->wait.comm->up, result ? -(int)result : 1);
	return NULL;
}
