/* SPDX-License-Identifier: Apache-2.0 */
/* Each is made in a process of its own, which goes on afterwards as its author would. */
#include "mistakes.h"

#include "link.h"
#include "plugin.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 2, MEMORY = 1 << 20, MESSAGE = 300000 };

/* Two comms' both ends, and memory registered with each. */
struct rig {
	const struct net_table *net;
	struct link link[PAIRS];
	uint8_t *out, *in, *stray; /* STRAY is not registered */
	void *out_mr[PAIRS], *in_mr[PAIRS];
};

/* What only has to be right: an author's mistake is elsewhere. */
static void
right(const char *what, int result)
{
	if (plugin_said(what, result) < 0)
		_exit(1);
}

static uint8_t *
pages(void)
{
	void *at = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(1);
	return memset(at, 0x5a, MEMORY);
}

static void
make_with(struct rig *rig, const struct net_table *net, int dev)
{
	*rig = (struct rig){ .net = net, .out = pages(), .in = pages(), .stray = pages() };
	for (unsigned i = 0; i < PAIRS; i++) {
		rig->link[i].net = net;
		rig->link[i].dev = i == 0 ? 0 : dev;
		if (link_listen(&rig->link[i], rig->link[i].theirs) < 0)
			_exit(1);
	}
	if (link_stand(rig->link, PAIRS, (1ul << PAIRS) - 1) < 0)
		_exit(1);
	for (unsigned i = 0; i < PAIRS; i++) {
		right("regMr",
		      net->reg_mr(rig->link[i].send, rig->out, MEMORY, PTR_CUDA, &rig->out_mr[i]));
		right("regMr",
		      net->reg_mr(rig->link[i].recv, rig->in, MEMORY, PTR_CUDA, &rig->in_mr[i]));
	}
}

static void
make(struct rig *rig, const struct net_table *net)
{
	make_with(rig, net, 0);
}

static void *
send_from(const struct rig *rig, unsigned i, void *data, void *mr)
{
	void *request = NULL;

	right("isend", rig->net->isend(rig->link[i].send, data, MESSAGE, 0, mr, &request));
	return request;
}

static void *
receive_to(const struct rig *rig, unsigned i, void *data)
{
	void *request = NULL, *mr = rig->in_mr[i];
	int size = MESSAGE, tag = 0;

	right("irecv", rig->net->irecv(rig->link[i].recv, 1, &data, &size, &tag, &mr, &request));
	return request;
}

/* Asks until what is not NULL is done. */
static void
finish(const struct rig *rig, void *sent, void *received)
{
	while (sent || received) {
		int done = 0, size = 0;

		if (sent)
			right("test", rig->net->test(sent, &done, &size));
		if (done)
			sent = NULL;
		done = 0;
		if (received)
			right("test", rig->net->test(received, &done, &size));
		if (done)
			received = NULL;
		poll(NULL, 0, 1); /* some wait for ever: others need the processor */
	}
}

static void
whole_message(const struct rig *rig, unsigned i)
{
	void *received = receive_to(rig, i, rig->in);

	finish(rig, send_from(rig, i, rig->out, rig->out_mr[i]), received);
	right("irecvConsumed", rig->net->irecv_consumed(rig->link[i].recv, 1, received));
}

static void
handle_as_text(const struct net_table *net)
{
	struct link link = { .net = net };
	char handle[HANDLE_BYTES] = { 0 };

	if (link_listen(&link, handle) < 0)
		_exit(1);
	stpncpy(link.theirs, handle, HANDLE_BYTES);
	link_stand(&link, 1, 1);
}

static void
two_connects(const struct net_table *net)
{
	struct link link[2] = { { .net = net }, { .net = net } };

	if (link_listen(&link[0], link[0].theirs) < 0)
		_exit(1);
	memcpy(link[1].theirs, link[0].theirs, HANDLE_BYTES);
	link_stand(link, 2, 3);
}

static void
registered_elsewhere(const struct net_table *net)
{
	struct rig rig;
	void *received;

	make_with(&rig, net, 1);
	received = receive_to(&rig, 0, rig.in);
	finish(&rig, send_from(&rig, 0, rig.out, rig.out_mr[1]), received);
}

static void
foreign_nic(const struct net_table *net)
{
	struct rig rig;

	make_with(&rig, net, 1);
	whole_message(&rig, 0);
	whole_message(&rig, 1);
}

static void
deregistered(const struct net_table *net)
{
	struct rig rig;
	void *received;

	make(&rig, net);
	right("deregMr", net->dereg_mr(rig.link[0].send, rig.out_mr[0]));
	received = receive_to(&rig, 0, rig.in);
	finish(&rig, send_from(&rig, 0, rig.out, rig.out_mr[0]), received);
}

static void
deregistered_twice(const struct net_table *net)
{
	struct rig rig;

	make(&rig, net);
	right("deregMr", net->dereg_mr(rig.link[0].send, rig.out_mr[0]));
	right("deregMr", net->dereg_mr(rig.link[0].send, rig.out_mr[0]));
}

static void
both_kinds(const struct net_table *net)
{
	struct net_props props;
	struct rig rig;
	void *mr = NULL;

	make(&rig, net);
	right("getProperties", net->get_properties(0, &props));
	right("regMr", net->reg_mr(rig.link[0].send, rig.stray, MEMORY, props.ptr_support, &mr));
	finish(&rig, send_from(&rig, 0, rig.stray, mr), receive_to(&rig, 0, rig.in));
}

static void
nothing_registered(const struct net_table *net)
{
	struct rig rig;
	void *mr = NULL;

	make(&rig, net);
	right("regMr", net->reg_mr(rig.link[0].send, NULL, MEMORY, PTR_CUDA, &mr));
}

static void
closed_at_once(const struct net_table *net)
{
	struct rig rig;
	void *received, *sent;
	int done = 0, size = 0;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	sent = send_from(&rig, 0, rig.out, rig.out_mr[0]);
	right("test", net->test(sent, &done, &size));
	right("closeSend", net->close_send(rig.link[0].send));
	finish(&rig, NULL, received);
}

static void
old_request(const struct net_table *net)
{
	struct rig rig;
	void *sent, *received, *next;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	sent = send_from(&rig, 0, rig.out, rig.out_mr[0]);
	finish(&rig, sent, received);
	right("irecvConsumed", net->irecv_consumed(rig.link[0].recv, 1, received));
	next = receive_to(&rig, 0, rig.in);
	send_from(&rig, 0, rig.out, rig.out_mr[0]);
	finish(&rig, sent, next);
}

static void
after_fork(const struct net_table *net)
{
	struct rig rig;
	pid_t child;

	make(&rig, net);
	whole_message(&rig, 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		whole_message(&rig, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void
waits_without_test(const struct net_table *net)
{
	struct rig rig;
	void *received;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	send_from(&rig, 0, rig.out, rig.out_mr[0]);
	finish(&rig, NULL, received);
}

static void
consumed_elsewhere(const struct net_table *net)
{
	struct rig rig;
	void *received;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	finish(&rig, send_from(&rig, 0, rig.out, rig.out_mr[0]), received);
	right("irecvConsumed", net->irecv_consumed(rig.link[1].recv, 1, received));
}

static void
send_consumed(const struct net_table *net)
{
	struct rig rig;
	void *received, *sent;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	sent = send_from(&rig, 0, rig.out, rig.out_mr[0]);
	finish(&rig, sent, received);
	right("irecvConsumed", net->irecv_consumed(rig.link[0].send, 1, sent));
}

/* What holds nothing is given back first: the request of the oldest would be freed. */
static void
empty_first(const struct net_table *net)
{
	struct rig rig;
	void *full, *empty = NULL, *nothing = NULL, *sent, *data, *mr;
	int size = 0, tag = 0;

	make(&rig, net);
	data = rig.in;
	mr = rig.in_mr[0];
	full = receive_to(&rig, 0, rig.in);
	right("irecv", net->irecv(rig.link[0].recv, 1, &data, &size, &tag, &mr, &empty));
	sent = send_from(&rig, 0, rig.out, rig.out_mr[0]);
	right("isend", net->isend(rig.link[0].send, rig.out, 0, 0, rig.out_mr[0], &nothing));
	finish(&rig, sent, full);
	finish(&rig, nothing, empty);
	right("irecvConsumed", net->irecv_consumed(rig.link[0].recv, 1, empty));
	right("irecvConsumed", net->irecv_consumed(rig.link[0].recv, 1, full));
}

static void
listener_closed(const struct net_table *net)
{
	struct link link = { .net = net };

	if (link_listen(&link, link.theirs) < 0)
		_exit(1);
	if (link_connect(&link) < 0 || link_accept(&link) < 0)
		_exit(1);
	right("closeListen", net->close_listen(link.listen));
	link.listen = NULL;
	link_stand(&link, 1, 1);
}

static void
too_long(const struct net_table *net)
{
	struct rig rig;
	void *request = NULL;
	size_t size = 3u << 30;

	make(&rig, net);
	right("isend",
	      net->isend(rig.link[0].send, rig.out, (int)size, 0, rig.out_mr[0], &request));
	finish(&rig, request, NULL);
}

typedef int v10_connect(int, void *, void *, void **, struct device_handle **);

static void
newer_table(const struct net_table *net)
{
	v10_connect *connect = (v10_connect *)(void (*)(void))net->connect;
	struct device_handle unused = { 0 }, *device = &unused;
	struct link link = { .net = net };
	int config[HANDLE_BYTES / sizeof(int)] = { -1, -1 }; /* longer: it is read as a handle */

	if (link_listen(&link, link.theirs) < 0)
		_exit(1);
	while (!link.send)
		right("connect", connect(0, config, link.theirs, &link.send, &device));
}

static void
unmapped(const struct net_table *net)
{
	struct rig rig;
	void *received, *sent;

	make(&rig, net);
	received = receive_to(&rig, 0, rig.in);
	sent = send_from(&rig, 0, rig.out, rig.out_mr[0]);
	munmap(rig.out, MEMORY);
	finish(&rig, sent, received);
}

static void
sent_by_receiver(const struct net_table *net)
{
	struct rig rig;
	void *request = NULL;

	make(&rig, net);
	right("isend", net->isend(rig.link[0].recv, rig.in, MESSAGE, 0, rig.in_mr[0], &request));
	finish(&rig, request, NULL);
}

static void
received_by_listener(const struct net_table *net)
{
	struct rig rig;
	void *received;

	make(&rig, net);
	rig.link[0].recv = rig.link[0].listen;
	received = receive_to(&rig, 0, rig.in);
	finish(&rig, send_from(&rig, 0, rig.out, rig.out_mr[0]), received);
}

static void
closed_twice(const struct net_table *net)
{
	struct rig rig;

	make(&rig, net);
	whole_message(&rig, 0);
	link_close(&rig.link[0]);
	right("closeRecv", net->close_recv(rig.link[0].recv));
}

static void
tested_nothing(const struct net_table *net)
{
	struct rig rig;
	int done = 0, size = 0;

	make(&rig, net);
	right("test", net->test(NULL, &done, &size));
}

const struct mistake mistakes[] = {
	{ "a handle is sent as text and ends at its first zero byte", handle_as_text },
	{ "two senders connect to one listener", two_connects },
	{ "memory registered with one NIC is sent from by another", registered_elsewhere },
	{ "a GPU receives by all NICs", foreign_nic },
	{ "memory is sent from that was deregistered", deregistered },
	{ "memory is deregistered twice", deregistered_twice },
	{ "the kind of memory is all kinds that the properties name", both_kinds },
	{ "memory at NULL is registered", nothing_registered },
	{ "a comm is closed while its message is on its way", closed_at_once },
	{ "the request of an older message is asked for", old_request },
	{ "a comm is used in a child of its process", after_fork },
	{ "a sender waits for its peer's answer and does not test", waits_without_test },
	{ "a receive is consumed by another comm", consumed_elsewhere },
	{ "a send is consumed like a receive", send_consumed },
	{ "an empty receive is consumed before an older one", empty_first },
	{ "a listener is closed while it accepts", listener_closed },
	{ "a size of 3 GiB is made an int", too_long },
	{ "connect is called as in version 10", newer_table },
	{ "memory is unmapped before its send is done", unmapped },
	{ "a receiver's comm is sent by", sent_by_receiver },
	{ "a listener's comm is received by", received_by_listener },
	{ "a comm is closed twice", closed_twice },
	{ "test is given no request", tested_nothing },
};
const unsigned mistake_count = sizeof mistakes / sizeof *mistakes;
