/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the other side: it closes, falls silent, lies, or is killed. */
#include "cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/client.h"
#include "emu/setup.h"
#include "emu/wire.h"

#define FAULT(text) "|TCPX_EMU_FAULT=" text

static struct pair p;

/* ---- peers that go ------------------------------------------------------------------------------ */

/* Both sides have one request of two chunks; what their tests say in the end. */
static void
both_sides(enum nccl_result *sender, enum nccl_result *receiver, bool *done, unsigned ms)
{
	uint64_t end = now_ms() + ms;
	void *send, *recv;
	int s = 0, r = 0;

	plugin();
	pair_connect(&p, 0);
	pair_memory(&p, 2 * CHUNK);
	CHECK(pair_send(&p, 2 * CHUNK, &send) == NCCL_OK);
	CHECK(pair_recv(&p, 2 * CHUNK, &recv) == NCCL_OK);
	*sender = *receiver = NCCL_OK;
	while (now_ms() < end && !(*sender && *receiver)) {
		if (!s && !*sender)
			*sender = plugin()->test(send, &s, NULL);
		if (!r && !*receiver)
			*receiver = plugin()->test(recv, &r, NULL);
	}
	*done = r;
}

static int
control_gone(void *arg)
{
	enum nccl_result sender, receiver;
	bool done;

	both_sides(&sender, &receiver, &done, FOREVER_MS);
	CHECK(sender == NCCL_SYSTEM_ERROR && receiver == NCCL_SYSTEM_ERROR && !done);
	pair_close(&p);
	return 0;
}

/* The receiver's end closes when all headers are out: only the next header finds that. */
static int
sender_is_not_told(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	enum nccl_result sender, receiver;
	void *more;
	bool done;
	int s = 0;

	both_sides(&sender, &receiver, &done, 1000);
	CHECK(sender == NCCL_OK && receiver == NCCL_SYSTEM_ERROR && !done);
	CHECK(pair_send(&p, CHUNK, &more) == NCCL_OK);
	while (sender == NCCL_OK && now_ms() < end)
		sender = plugin()->test(more, &s, NULL);
	CHECK(sender != NCCL_OK);
	pair_close(&p);
	return 0;
}

/* test() says done of what never arrives. */
static int
false_success(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *send, *recv;
	int s = 0, r = 0;

	plugin();
	pair_connect(&p, 0);
	pair_memory(&p, CHUNK);
	CHECK(pair_send(&p, CHUNK, &send) == NCCL_OK);
	CHECK(pair_recv(&p, CHUNK, &recv) == NCCL_OK);
	while (!s && now_ms() < end) {
		CHECK(plugin()->test(send, &s, NULL) == NCCL_OK);
		CHECK(plugin()->test(recv, &r, NULL) == NCCL_OK);
	}
	CHECK(s && !r);
	pair_close(&p);
	return 0;
}

static int
silence(void *arg)
{
	enum nccl_result sender, receiver;
	bool done;

	both_sides(&sender, &receiver, &done, 1000); /* time for the fault to happen */
	CHECK(sender == NCCL_OK && receiver == NCCL_OK && !done);
	pair_close(&p);
	return 0;
}

/* The first receive's bytes are held back on socket 1 while the second's connection, socket 2, is lost.
 * With a thread for both nothing of socket 1 is read any more; with two it is. */
static int
a_connection_is_lost(void *arg)
{
	const bool *one_thread = arg;
	uint64_t held_until = now_ms() + 600, end = now_ms() + FOREVER_MS;
	void *send[2], *recv[2], *at;
	int sent = 0, done = 0, early = 0, size = 1000, tag = 0;

	plugin_awaits("Connection closed by remote peer");
	pair_start(&p);
	for (unsigned i = 0; i < 2; i++) {
		at = p.to + i * p.place;
		CHECK(pair_send(&p, size, &send[i]) == NCCL_OK);
		CHECK(plugin()->irecv(p.recv, 1, &at, &size, &tag, &p.to_mh, &recv[i]) == NCCL_OK);
	}
	while (!plugin_said()) {
		if (sent < 2)
			CHECK(plugin()->test(send[sent], &done, NULL) == NCCL_OK);
		sent += done;
		if (!early)
			CHECK(plugin()->test(recv[0], &early, NULL) == NCCL_OK);
		CHECK(now_ms() < end);
	}
	done = early; /* then the held bytes came before the line, and nothing can be said */
	/* half a second more than it is held back */
	while (!done && now_ms() < (*one_thread ? held_until + 500 : end))
		CHECK(plugin()->test(recv[0], &done, NULL) == NCCL_OK);
	CHECK(early || !!done == !*one_thread);
	pair_close(&p);
	return 0;
}

/* The sender's end of a data connection is shut down: its next send() raises SIGPIPE. */
static int
a_signal(void *arg)
{
	enum nccl_result sender, receiver;
	bool done;

	signal(SIGPIPE, SIG_DFL);
	both_sides(&sender, &receiver, &done, FOREVER_MS);
	return 0;
}

TEST(lost_connections)
{
	const char *close = FAITHFUL FAULT("data-close:role=recv,req=1,byte=0;"
					   "socket-delay:role=recv,req=0,ms=600");
	bool one = true, two = false;
	char env[300];
	struct outcome o;

	snprintf(env, sizeof(env), "%s|NCCL_NSOCKS_PERTHREAD=4|NCCL_SOCKET_NTHREADS=1", close);
	must_say("data-closed", env, a_connection_is_lost, &one);
	snprintf(env, sizeof(env), "%s|NCCL_NSOCKS_PERTHREAD=2|NCCL_SOCKET_NTHREADS=2", close);
	must_say("data-closed", env, a_connection_is_lost, &two);
	o = run_child(FAITHFUL FAULT("data-close:role=send,byte=100000"), a_signal, NULL);
	if (!WIFSIGNALED(o.status) || WTERMSIG(o.status) != SIGPIPE)
		fail_msg("no SIGPIPE: status 0x%x, text:\n%s", (unsigned)o.status, o.text);
}

/* The sender is another process, and is killed in the middle of its third message. */
static int
loses_its_peer(void *arg)
{
	struct halves h;
	void *request, *mh, *at;
	enum nccl_result result = NCCL_OK;
	int through[2], done, status, size = 4096, tag = 0;
	uint64_t end = now_ms() + FOREVER_MS;
	pid_t pid;

	CHECK(pipe(through) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		memset(&h, 0, sizeof(h));
		CHECK(read(through[0], h.handle, sizeof(h.handle)) == sizeof(h.handle));
		while (!h.send)
			CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
		CHECK(read(through[0], &done, 1) == 1); /* both sides stand */
		at = mem_new(4096);
		CHECK(plugin()->reg(h.send, at, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
		for (;;) {
			CHECK(plugin()->isend(h.send, at, size, 0, mh, &request) == NCCL_OK);
			finish(request);
		}
	}
	halves_listen(&h);
	CHECK(write(through[1], h.handle, sizeof(h.handle)) == sizeof(h.handle));
	while (!h.recv)
		CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
	CHECK(write(through[1], "", 1) == 1);
	at = mem_new(4096);
	CHECK(plugin()->reg(h.recv, at, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	for (unsigned i = 0; !result; i++) {
		result = plugin()->irecv(h.recv, 1, &at, &size, &tag, &mh, &request);
		for (done = 0; !done && !result;) {
			result = plugin()->test(request, &done, NULL);
			/* the header of the third may have come, its bytes do not */
			if (i == 2 && waitpid(pid, &status, WNOHANG) == pid)
				result = NCCL_SYSTEM_ERROR;
			CHECK(!done || i < 2);
			CHECK(now_ms() < end);
		}
		if (!result)
			CHECK(plugin()->consumed(h.recv, 1, request) == NCCL_OK);
	}
	CHECK(result == NCCL_SYSTEM_ERROR);
	CHECK(plugin()->close_recv(h.recv) == NCCL_OK);
	return 0;
}

/* ---- peers that lie ----------------------------------------------------------------------------- */

static int
join(const struct sockaddr_in *to, uint32_t index, uint64_t nonce)
{
	const struct emu_hello hello = { EMU_HELLO_MAGIC, index, nonce };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0);
	CHECK(write(fd, &hello, sizeof(hello)) == sizeof(hello));
	return fd;
}

/* Connects to a listen comm as the plugin does. Returns the control connection. */
static int
join_all(struct halves *h)
{
	struct emu_handle to;
	uint32_t rule;
	int ctrl;

	memcpy(&to, h->handle, sizeof(to));
	CHECK(plugin()->accept(h->listen, &h->recv, &h->device) == NCCL_OK); /* its thread begins */
	ctrl = join(&to.ctrl, EMU_CTRL_INDEX, to.nonce);
	for (unsigned i = to.sockets; i-- > 0;) {
		(void)join(&to.data, i, to.nonce);
		CHECK(read(ctrl, &rule, sizeof(rule)) == sizeof(rule));
	}
	while (!h->recv)
		CHECK(plugin()->accept(h->listen, &h->recv, &h->device) == NCCL_OK);
	return ctrl;
}

/* The first header of a request is right, the second is @arg. */
static int
a_header_lies(void *arg)
{
	const struct emu_header first = { EMU_HEADER_DATA, 0, 1000, 0, 2000 };
	uint64_t end = now_ms() + FOREVER_MS;
	enum nccl_result result = NCCL_OK;
	int ctrl, done = 0, size = 4096, tag = 0;
	void *request, *mh, *at;
	struct halves h;

	halves_listen(&h);
	ctrl = join_all(&h);
	at = mem_new(4096);
	CHECK(plugin()->reg(h.recv, at, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	CHECK(plugin()->irecv(h.recv, 1, &at, &size, &tag, &mh, &request) == NCCL_OK);
	CHECK(write(ctrl, &first, sizeof(first)) == sizeof(first));
	CHECK(write(ctrl, arg, sizeof(first)) == sizeof(first));
	close(ctrl);
	while (!result && now_ms() < end)
		result = plugin()->test(request, &done, NULL);
	CHECK(result == NCCL_SYSTEM_ERROR && !done);
	CHECK(plugin()->close_recv(h.recv) == NCCL_OK);
	return 0;
}

TEST(a_header_that_cannot_be_is_named)
{
	static const struct emu_header lies[] = {
		{ EMU_HEADER_ANNOUNCE, 0, 1000, 1000, 2000 },
		{ EMU_HEADER_DATA, EMU_SOCKETS_MAX, 1000, 1000, 2000 },
		{ EMU_HEADER_DATA, 0, 0, 1000, 2000 },
		{ EMU_HEADER_DATA, 0, 1000, 0, 2000 },
		{ EMU_HEADER_DATA, 0, 500, 1500, 2000 },
		{ EMU_HEADER_DATA, 0, 1001, 1000, 2000 },
		{ EMU_HEADER_DATA, 0, UINT32_MAX, 1000, 2000 },
		/* a total that is not the first header's */
		{ EMU_HEADER_DATA, 0, 500, 1000, 1500 },
		{ EMU_HEADER_DATA, 0, 2000, 1000, 3000 },
	};

	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		must_say("ctrl-nonsense", STRICT, a_header_lies, (void *)&lies[i]);
}

TEST(peers)
{
	must_say("ctrl-closed", STRICT FAULT("ctrl-close:role=send,byte=600000")
		 "|NCCL_DYNAMIC_CHUNK_SIZE=262144", control_gone, NULL);
	must_say("ctrl-closed", STRICT FAULT("ctrl-close:role=recv"), sender_is_not_told, NULL);
	must_pass(STRICT FAULT("false-done:byte=100000"), false_success, NULL);
	must_say("data-closed", STRICT FAULT("data-close:role=send,byte=100000"), silence, NULL);
	must_say("data-closed", STRICT FAULT("data-close:role=recv,byte=0"), silence, NULL);
	must_pass(STRICT FAULT("half-open:role=recv"), silence, NULL);
	must_pass(STRICT FAULT("kill:role=send,req=2,byte=100"), loses_its_peer, NULL);
}
