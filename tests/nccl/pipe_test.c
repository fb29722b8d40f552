/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipe's lane gets of its communicator. */
#include "../unit/core/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/transfer/lane_state.h"
#include "nccl/hub.h"
#include "proto/frame.h"

TEST_WITH(a_senders_lane_has_the_weight_and_the_number_of_its_communicator,
	  rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct hub far = { .engine = r->b, .name = "bert", .addrs = "127.0.1.1",
			   .port = (uint16_t)tcpx_port(r->b) };
	struct communicator of = { .id = 0xd1ce, .weight = 7 };
	uint8_t ticket[PIPE_TICKET_BYTES];
	struct pipe_listen *listen;
	char why[PIPE_WHY_BYTES];
	struct pipe *tx, *rx;
	struct tcpx_lane *l;
	int rc;

	assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
	assert_ok(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why));
	while ((rc = tcpx_nccl_pipe_ready(tx)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
	while ((rc = tcpx_nccl_pipe_accept(listen, &rx)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
	l = tcpx_container(tcpx_chain_first(&r->a->registry.lanes), struct tcpx_lane, handle);
	assert_int_equal(l->turn.drr.weight, 7);
	assert_non_null(l->label);
	assert_string_equal(l->label->text, "comm d1ce");
	tcpx_nccl_pipe_close(tx);
	tcpx_nccl_pipe_close(rx);
	tcpx_nccl_pipe_listen_close(listen);
}

/* The session that stands is by the last of them. */
TEST_WITH(any_address_of_a_ticket_leads_to_the_peer, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct hub far = { .engine = r->b, .name = "bert", .addrs = "127.0.9.9,::1,127.0.1.1",
			   .port = (uint16_t)tcpx_port(r->b) };
	struct communicator of = { .id = 0xd1ce };
	struct pipe_listen *listen[2];
	uint8_t ticket[PIPE_TICKET_BYTES];
	char why[PIPE_WHY_BYTES];
	struct pipe *tx[2], *rx[2];
	int rc;

	for (int i = 0; i < 2; i++) {
		assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen[i]));
		assert_ok(tcpx_nccl_pipe_connect(&near, of, ticket, &tx[i], why));
		while ((rc = tcpx_nccl_pipe_ready(tx[i])) == -EAGAIN)
			sched_yield();
		assert_ok(rc);
		while ((rc = tcpx_nccl_pipe_accept(listen[i], &rx[i])) == -EAGAIN)
			sched_yield();
		assert_ok(rc);
	}
	tcpx_chain_each(n, after, &r->a->registry.peers)
		assert_ptr_equal(tcpx_container(n, struct tcpx_peer, in_engine), r->to_b);
	assert_int_equal(atomic_load(&r->to_b->handles), 5); /* of the rig, two pipes and their lanes */
	for (int i = 0; i < 2; i++) {
		tcpx_nccl_pipe_close(tx[i]);
		tcpx_nccl_pipe_close(rx[i]);
		tcpx_nccl_pipe_listen_close(listen[i]);
	}
}

/* NCCL hands on what the other rank's net has made. */
TEST_WITH(a_handle_that_is_no_ticket_is_named, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct hub far = { .engine = r->b, .name = "bert", .addrs = ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
			   .port = 1 };
	struct communicator of = { .id = 0xd1ce };
	uint8_t ticket[PIPE_TICKET_BYTES] = { 2 };
	struct pipe_listen *listen;
	char why[PIPE_WHY_BYTES];
	struct pipe *tx;

	assert_code(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why), -EINVAL);
	assert_non_null(strstr(why, "without this plugin"));
	assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
	assert_true(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why) < 0);
	assert_non_null(strstr(why, "changed on its way"));
	tcpx_nccl_pipe_listen_close(listen);
}

/* No name is looked up, and no control character reaches NCCL's log. */
TEST_WITH(a_ticket_that_was_changed_is_not_dialled, rig_setup, rig_teardown)
{
	static const struct {
		const char *name, *addrs;
	} rows[] = {
		{ "bert", "127.0.1.1x" }, { "bert", "localhost" }, { "bert", "127.0.1.1,localhost" },
		{ "bert", "127.0.1.1," }, { "bert", "" }, { "bert\a", "127.0.1.1" }, { "\x7f", "127.0.1.1" },
	};
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct communicator of = { .id = 0xd1ce };
	uint64_t peers = r->a->registry.peers_made;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hub far = { .engine = r->b, .port = (uint16_t)tcpx_port(r->b) };
		uint8_t ticket[PIPE_TICKET_BYTES];
		struct pipe_listen *listen;
		char why[PIPE_WHY_BYTES];
		struct pipe *tx;

		strcpy(far.name, rows[i].name);
		strcpy(far.addrs, rows[i].addrs);
		assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
		assert_code(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why), -EINVAL);
		assert_non_null(strstr(why, "changed on its way"));
		tcpx_nccl_pipe_listen_close(listen);
	}
	assert_int_equal(r->a->registry.peers_made, peers);
}

/* A listener that all of 127.0.0.0/8 leads to. */
static int
listen_anywhere(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* Another release refuses one that waits, if one does, and writes the address that it dialled into @by. */
static unsigned
refuse_one(int listener, char by[INET_ADDRSTRLEN])
{
	uint8_t room[256], start[256];
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	struct tcpx_buf b;
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return 0;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	assert_non_null(inet_ntop(AF_INET, &at.sin_addr, by, INET_ADDRSTRLEN));
	assert_true(recv(fd, start, sizeof(start), 0) > 0);
	tcpx_buf_init(&b, room + TCPX_FRAME_HEAD, sizeof(room) - TCPX_FRAME_HEAD);
	tcpx_refuse_write(&b, TCPX_EVERSION, "another release", 0);
	tcpx_frame_head_write(room, TCPX_FR_REFUSE, 0, (uint32_t)b.pos);
	assert_true(send(fd, room, TCPX_FRAME_HEAD + b.pos, MSG_NOSIGNAL) > 0);
	close(fd);
	return 1;
}

/* Another process may be at one of its addresses, so each has its turn. */
TEST_WITH(another_release_is_asked_once_by_each_address, rig_setup, rig_teardown)
{
	static const char *const turns[] = { "127.0.9.8", "127.0.9.9", "127.0.9.10" };
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct hub far = { .engine = r->b, .name = "chloe", .addrs = "127.0.9.8,127.0.9.9,127.0.9.10" };
	struct communicator of = { .id = 0xd1ce };
	int listener = listen_anywhere(&far.port), rc;
	char why[PIPE_WHY_BYTES], by[INET_ADDRSTRLEN];
	uint8_t ticket[PIPE_TICKET_BYTES];
	struct pipe_listen *listen;
	unsigned refused = 0;
	struct pipe *tx;

	assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
	assert_ok(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why));
	while ((rc = tcpx_nccl_pipe_ready(tx)) == -EAGAIN) {
		if (!refuse_one(listener, by))
			continue;
		assert_in_range(refused, 0, 2);
		assert_string_equal(by, turns[refused++]);
	}
	assert_code(rc, TCPX_EVERSION);
	assert_int_equal(refused, 3);
	tcpx_nccl_pipe_close(tx);
	tcpx_nccl_pipe_listen_close(listen);
	close(listener);
}

/* A peer that takes the connection and says nothing has had all of TCPX_CONNECT_MS: a second dial would
 * make NCCL wait for as long again. */
TEST(a_silent_peer_is_not_dialled_again)
{
	static const char *const soon[] = { "TCPX_CONNECT_MS=150", NULL };
	struct hub near = { .engine = rig_open("anna", soon), .name = "anna" };
	struct hub far = { .engine = near.engine, .name = "dora", .addrs = "127.0.9.8" };
	struct communicator of = { .id = 0xd1ce };
	int listener = listen_anywhere(&far.port), rc, fd;
	uint8_t ticket[PIPE_TICKET_BYTES];
	struct pipe_listen *listen;
	char why[PIPE_WHY_BYTES];
	unsigned dialled = 0;
	struct pipe *tx;

	assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
	assert_ok(tcpx_nccl_pipe_connect(&near, of, ticket, &tx, why));
	while ((rc = tcpx_nccl_pipe_ready(tx)) == -EAGAIN)
		sched_yield();
	assert_code(rc, TCPX_ETIMEDOUT);
	for (; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
		dialled++;
	assert_in_range(dialled, 0, 1); /* none: the machine was too busy to connect in time */
	tcpx_nccl_pipe_close(tx);
	tcpx_nccl_pipe_listen_close(listen);
	close(listener);
	tcpx_close(near.engine);
}

TEST(a_ticket_names_the_addresses_that_there_are)
{
	static const struct {
		const char *addr[3], *ticket;
	} rows[] = {
		{ { "10.0.0.2", "0.0.0.0", "10.0.2.4" }, "10.0.0.2,10.0.2.4" },
		{ { "::", "0.0.0.0", "fd00::1" }, "fd00::1" },
		{ { "::", "0.0.0.0", "0.0.0.0" }, "" },
		{ { "fd00:1111:2222:3333::1", "fd00:1111:2222:3333::2", "fd00:1111:2222:3333::3" },
		  "fd00:1111:2222:3333::1,fd00:1111:2222:3333::2" },
	};
	struct tcpx_nic_info nic[3];
	char out[HUB_ADDRS_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(nic, 0, sizeof(nic));
		for (int k = 0; k < 3; k++)
			strcpy(nic[k].addr, rows[i].addr[k]);
		tcpx_nccl_hub_addrs(nic, 3, out);
		assert_string_equal(out, rows[i].ticket);
	}
}

/* The library takes a hint from it, too, by rules of its own. */
TEST(an_engine_opens_whatever_nccl_reads)
{
	static const char *const names[] = { "lo,", ",lo", "=lo,,", "^eth99,,", "x", "=", "^", ",", "lo:1" };
	struct tcpx_nic_info nic[8];
	size_t count;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(setenv("NCCL_SOCKET_IFNAME", names[i], 1), 0);
		count = 8;
		assert_ok(tcpx_nccl_hub_nics(nic, &count));
	}
	assert_int_equal(setenv("NCCL_SOCKET_IFNAME", "lo", 1), 0);
	count = 8;
	assert_ok(tcpx_nccl_hub_nics(nic, &count));
	assert_int_equal(count, 1);
	assert_string_equal(nic[0].name, "lo");
	assert_string_equal(tcpx_nccl_hub_nics_by(), "NCCL_SOCKET_IFNAME");
	assert_int_equal(setenv("TCPX_NICS", "lo", 1), 0);
	assert_string_equal(tcpx_nccl_hub_nics_by(), "TCPX_NICS");
	assert_int_equal(unsetenv("TCPX_NICS"), 0);
	assert_int_equal(setenv("NCCL_SOCKET_IFNAME", ",", 1), 0);
	assert_null(tcpx_nccl_hub_nics_by());
	assert_int_equal(unsetenv("NCCL_SOCKET_IFNAME"), 0);
}

/* NCCL's setting is for its own pieces, and the plugin sets it. */
TEST(nccls_pieces_are_no_size_of_chunks)
{
	struct hub *h;

	assert_int_equal(setenv("NCCL_P2P_NET_CHUNKSIZE", "524288", 1), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_int_equal(h->engine->limit.chunk, 0);
	assert_int_equal(h->engine->limit.window, 4);
	assert_int_equal(h->engine->limit.process_ns, 600 * TCPX_SEC);
	assert_int_equal(h->engine->limit.connect_ns, 120 * TCPX_SEC);
	tcpx_close(h->engine);
	free(h);
	assert_int_equal(setenv("TCPX_CHUNK", "256K", 1), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_int_equal(h->engine->limit.chunk, 256 << 10);
	tcpx_close(h->engine);
	free(h);
}

/* The limits of the plugin hold whatever the environment says for other engines. */
TEST(a_rank_keeps_neither_notes_nor_sends)
{
	struct hub *h;

	assert_int_equal(setenv("TCPX_NOTE_LIMIT", "100", 1), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_int_equal(h->engine->limit.notes, 0);
	assert_int_equal(h->engine->limit.sends, 0);
	assert_int_equal(unsetenv("TCPX_NOTE_LIMIT"), 0);
	tcpx_close(h->engine);
	free(h);
}

/* gethostname() of glibc fails for it, after it has written what fits. */
TEST(a_long_host_name_is_cut)
{
	struct hub *h;

	if (unshare(CLONE_NEWUTS) != 0) {
		print_message("# skipped: no namespaces here\n");
		skip();
	}
	assert_int_equal(sethostname("ip-172-31-10-200.ec2.internal", 29), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_memory_equal(h->name, "ip-172-31-10-200:", 17);
	tcpx_close(h->engine);
	free(h);
}
