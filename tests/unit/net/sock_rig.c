/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends of the sock provider in one thread. See sock_rig.h.
 */
#include "sock_rig.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t
rig_now(void *arg)
{
	return tcpx_clock_now(&tcpx_clock_system) + ((struct rig *)arg)->skip_ns;
}

static void
rig_log(void *arg, int level, const char *line)
{
	((struct rig *)arg)->warnings += level <= TCPX_LOG_WARN;
}

static int
fd_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int
rig_open_lending(void **state, enum tcpx_lend lend)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct tcpx_net_params params = { .nic_count = 1, .lend = lend };

	assert_non_null(r);
	r->fds_before = fd_count();
	r->ops = tcpx_net_find("sock");
	assert_non_null(r->ops);
	tcpx_log_setup("WARN", NULL, NULL);
	tcpx_log_sink(rig_log, r);
	r->clock = (struct tcpx_clock){ rig_now, r };
	r->nic = (struct tcpx_nic){ .name = "lo", .numa = -1 };
	assert_int_equal(tcpx_addr_parse("127.0.0.1", &r->nic.addr), 0);
	params.nics = &r->nic;
	params.clock = &r->clock;
	assert_int_equal(r->ops->open(&params, &r->net, &(struct tcpx_net_facts){ 0 }), 0);
	assert_int_equal(r->ops->poller_open(r->net, &r->poller), 0);
	*state = r;
	return 0;
}

int
rig_open(void **state)
{
	return rig_open_lending(state, TCPX_LEND_AUTO);
}

int
rig_open_channel(void **state)
{
	return rig_open_channel_lending(state, TCPX_LEND_AUTO);
}

int
rig_open_channel_lending(void **state, enum tcpx_lend lend)
{
	struct tcpx_chan_id id = rig_id(3, 0x5a);
	struct rig *r;

	rig_open_lending(state, lend);
	r = *state;
	assert_int_equal(rig_channel(r, &id, &r->tx, &r->rx), 0);
	return 0;
}

int
rig_close(void **state)
{
	struct rig *r = *state;

	r->ops->chan_close(r->tx);
	r->ops->chan_close(r->rx);
	r->ops->poller_close(r->poller);
	r->ops->close(r->net);
	tcpx_log_sink(NULL, NULL);
	assert_int_equal(fd_count(), r->fds_before);
	free(r);
	return 0;
}

uint64_t
rig_deadline(void)
{
	return tcpx_clock_now(&tcpx_clock_system) + RIG_WAIT_NS;
}

void
rig_pause(struct rig *r, uint64_t deadline_ns)
{
	struct tcpx_net_event ev[8];

	assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline_ns);
	assert_true(r->ops->poller_wait(r->poller, ev, 8, 100000) >= 0);
}

struct tcpx_chan_id
rig_id(uint16_t channel, uint8_t token)
{
	struct tcpx_chan_id id = {
		.session = 0x1122334455667788,
		.channel = channel,
		.generation = 7,
		.sending_side_is_opener = 1,
	};

	memset(id.token, token, sizeof(id.token));
	return id;
}

int
rig_channel(struct rig *r, const struct tcpx_chan_id *id, struct tcpx_chan **sender,
	    struct tcpx_chan **receiver)
{
	bool opener_sends = id->sending_side_is_opener;
	struct tcpx_chan *near = NULL, *far = NULL;
	uint8_t handle[TCPX_HANDLE_BYTES];
	uint64_t deadline = rig_deadline();
	struct tcpx_chan_listener *cl;
	int up = -EAGAIN, accepted = -EAGAIN;
	void *dial = NULL;

	assert_int_equal(r->ops->chan_listen(r->net, 0, id, handle, &cl), 0);
	while (up == -EAGAIN || accepted == -EAGAIN) {
		if (up == -EAGAIN)
			up = r->ops->chan_connect(r->net, 0, id, handle, opener_sends, &dial,
						  &near);
		if (accepted == -EAGAIN)
			accepted = r->ops->chan_accept(cl, !opener_sends, &far);
		rig_pause(r, deadline);
	}
	r->ops->chan_listener_close(cl);
	assert_null(dial);
	*sender = opener_sends ? near : far;
	*receiver = opener_sends ? far : near;
	return up ? up : accepted;
}

int
rig_raw(const uint8_t handle[TCPX_HANDLE_BYTES])
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct tcpx_chan_id id;
	struct tcpx_addr to;
	int fd;

	assert_true(tcpx_sock_handle_parse(handle, &to, &id));
	sa.sin_port = htons(to.port);
	memcpy(&sa.sin_addr, to.ip, 4);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

int
rig_raw_closed(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

uint8_t
rig_byte(uint64_t seq, size_t k)
{
	return (uint8_t)(seq * 131 + k * 7 + (k >> 8) * 13 + (k >> 16));
}
