/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain of lending pages: payload of the engine's own memory over 127.0.0.1, a thread
 * for each end of each channel, with each way of sending in turn. Prints GB/s, CPU seconds
 * a GB of either side, and calls and sleeps a message.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "net/registry.h"

#define CHANNELS_MAX 64
#define NAP_NS       (20 * TCPX_MS) /* so that the end of the run is noticed */

struct settings {
	uint32_t channels, seconds, bytes, slots;
	int way; /* -1: all ways in turn */
};

/* One end of one channel. */
struct end {
	const struct settings *set;
	const struct tcpx_net_ops *ops;
	struct tcpx_chan *chan;
	struct tcpx_poller *poller;
	uint8_t *ring; /* slots * bytes */
	atomic_bool *stop;
	pthread_t thread;
	uint64_t messages, calls, sleeps;
	double cpu_s;
};

static const struct tcpx_nic loopback = {
	.name = "lo", .addr = { .family = 4, .ip = { 127, 0, 0, 1 } }, .numa = -1,
};

static void
die(const char *what, int rc)
{
	fprintf(stderr, "lend: %s: %s\n", what, tcpx_err_name(rc));
	exit(1);
}

static void
end_sleep(struct end *e, unsigned interest)
{
	struct tcpx_net_event ev[2];

	e->sleeps++;
	e->ops->chan_watch(e->chan, e->poller, e, interest);
	e->ops->poller_wait(e->poller, ev, 2, NAP_NS);
}

static void
end_cpu(struct end *e)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	e->cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		   (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static uint8_t *
slot_of(const struct end *e, uint64_t seq)
{
	return e->ring + (size_t)(seq % e->set->slots) * e->set->bytes;
}

/* Whole messages only, so that the receiver keeps its place. */
static int
send_one(struct end *e, uint64_t seq)
{
	struct iovec iov = { slot_of(e, seq), e->set->bytes };
	struct tcpx_tx_msg m = {
		.head = { .len = e->set->bytes, .seq = seq },
		.iov = &iov, .iov_count = 1, .stable = true,
	};
	int rc;

	while (e->calls++, (rc = e->ops->stream->send(e->chan, &m)) == -EAGAIN) {
		if (atomic_load(e->stop))
			return rc;
		end_sleep(e, TCPX_WRITABLE);
	}
	return rc;
}

static void *
sender_run(void *arg)
{
	struct end *e = arg;
	struct tcpx_ack ack = { 0, 0 };
	int rc = 0;

	while (!atomic_load(e->stop) && !rc) {
		rc = e->ops->stream->acked(e->chan, &ack);
		if (rc && rc != -EAGAIN)
			break;
		rc = 0;
		if (e->messages - ack.received == e->set->slots) {
			end_sleep(e, TCPX_READABLE);
			continue;
		}
		rc = send_one(e, e->messages + 1);
		e->messages += rc == 0;
	}
	if (rc && rc != -EAGAIN)
		die("send", rc);
	end_cpu(e);
	return NULL;
}

static ssize_t
recv_some(struct end *e, const struct tcpx_head *head, size_t got)
{
	struct iovec iov = { slot_of(e, head->seq) + got, head->len - got };

	e->calls++;
	return e->ops->stream->recv(e->chan, &iov, 1);
}

static void *
receiver_run(void *arg)
{
	struct end *e = arg;
	struct tcpx_head head;
	bool open = false;
	size_t got = 0;
	ssize_t rc = 0;

	while (!atomic_load(e->stop)) {
		if (!open) {
			rc = e->ops->stream->recv_head(e->chan, &head);
			open = rc == 0;
			got = 0;
		} else if (got < head.len) {
			rc = recv_some(e, &head, got);
			got += rc > 0 ? (size_t)rc : 0;
		} else {
			rc = e->ops->stream->recv(e->chan, NULL, 0);
			if (rc == 0) {
				struct tcpx_ack ack = { head.seq, head.seq };

				open = false;
				e->messages++;
				rc = e->ops->stream->ack(e->chan, &ack);
			}
		}
		if (rc == -EAGAIN)
			end_sleep(e, TCPX_READABLE);
		else if (rc < 0)
			die("receive", (int)rc);
	}
	end_cpu(e);
	return NULL;
}

static void
channel_make(const struct tcpx_net_ops *ops, struct tcpx_net *net, uint32_t index,
	     struct end *tx, struct end *rx)
{
	struct tcpx_chan_id id = { .session = index + 1, .sending_side_is_opener = 1 };
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	int up = -EAGAIN, accepted = -EAGAIN;
	struct tcpx_net_event ev[1];
	void *state = NULL;
	int rc;

	memset(id.token, (int)index + 1, sizeof(id.token));
	rc = ops->chan_listen(net, 0, &id, handle, &cl);
	if (rc)
		die("listen", rc);
	while (up == -EAGAIN || accepted == -EAGAIN) {
		if (up == -EAGAIN)
			up = ops->chan_connect(net, 0, &id, handle, true, &state, &tx->chan);
		if (accepted == -EAGAIN)
			accepted = ops->chan_accept(cl, false, &rx->chan);
		ops->poller_wait(tx->poller, ev, 1, 100000);
	}
	if (up || accepted)
		die("connect", up ? up : accepted);
	ops->chan_listener_close(cl);
}

static void
end_open(struct end *e, const struct settings *set, const struct tcpx_net_ops *ops,
	 struct tcpx_net *net, atomic_bool *stop)
{
	size_t size = (size_t)set->slots * set->bytes;

	*e = (struct end){ .set = set, .ops = ops, .stop = stop };
	e->ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->ring == MAP_FAILED)
		die("ring", -errno);
	memset(e->ring, 1, size);
	if (ops->poller_open(net, &e->poller))
		die("poller", -ENOMEM);
}

static void
end_close(struct end *e)
{
	e->ops->chan_close(e->chan);
	e->ops->poller_close(e->poller);
	munmap(e->ring, (size_t)e->set->slots * e->set->bytes);
}

static void
report(const struct settings *set, enum tcpx_lend way, const struct end *tx,
       const struct end *rx, double seconds)
{
	double calls[2] = { 0 }, sleeps[2] = { 0 }, cpu_s[2] = { 0 };
	double messages = 0, lent = 0, gb;
	char shown[16] = "";

	for (uint32_t i = 0; i < set->channels; i++) {
		const struct end *ends[2] = { &tx[i], &rx[i] };
		struct tcpx_channel_info st = { 0 };

		for (int k = 0; k < 2; k++) {
			calls[k] += (double)ends[k]->calls;
			sleeps[k] += (double)ends[k]->sleeps;
			cpu_s[k] += ends[k]->cpu_s;
		}
		messages += (double)rx[i].messages;
		if (tx[i].ops->stream->stats(tx[i].chan, &st) == 0) {
			lent += (double)st.lent_bytes;
			snprintf(shown, sizeof(shown), "%s", st.tx_mode);
		}
	}
	gb = messages * set->bytes / 1e9;
	printf("%-12s %6.2f GB/s  cpu s/GB tx %.3f rx %.3f  a message: tx %.1f calls %.1f "
	       "sleeps, rx %.1f calls %.1f sleeps  lent %3.0f %% (now %s)\n",
	       tcpx_lend_name(way), gb / seconds, cpu_s[0] / gb, cpu_s[1] / gb,
	       calls[0] / messages, sleeps[0] / messages, calls[1] / messages,
	       sleeps[1] / messages, lent / gb / 1e7, shown);
	fflush(stdout);
}

static void
measure(const struct settings *set, enum tcpx_lend way)
{
	const struct tcpx_net_ops *ops = &tcpx_net_sock;
	struct tcpx_net_params params = { .nics = &loopback, .nic_count = 1, .lend = way };
	static struct end tx[CHANNELS_MAX], rx[CHANNELS_MAX];
	struct timespec nap = { .tv_sec = set->seconds };
	atomic_bool stop = false;
	struct tcpx_net *net;
	uint64_t start;

	if (ops->open(&params, &net, &(struct tcpx_net_facts){ 0 }))
		die("open", -ENOMEM);
	for (uint32_t i = 0; i < set->channels; i++) {
		end_open(&tx[i], set, ops, net, &stop);
		end_open(&rx[i], set, ops, net, &stop);
		channel_make(ops, net, i, &tx[i], &rx[i]);
	}
	start = tcpx_clock_now(&tcpx_clock_system);
	for (uint32_t i = 0; i < set->channels; i++)
		if (pthread_create(&rx[i].thread, NULL, receiver_run, &rx[i]) ||
		    pthread_create(&tx[i].thread, NULL, sender_run, &tx[i]))
			die("thread", -EAGAIN);
	nanosleep(&nap, NULL);
	atomic_store(&stop, true);
	for (uint32_t i = 0; i < set->channels; i++) {
		pthread_join(tx[i].thread, NULL);
		pthread_join(rx[i].thread, NULL);
	}
	report(set, way, tx, rx,
	       (double)(tcpx_clock_now(&tcpx_clock_system) - start) / (double)TCPX_SEC);
	for (uint32_t i = 0; i < set->channels; i++) {
		end_close(&tx[i]);
		end_close(&rx[i]);
	}
	ops->close(net);
}

static uint32_t
number(const char *text, uint32_t max)
{
	unsigned long n = strtoul(text, NULL, 10);

	if (n < 1 || n > max) {
		fprintf(stderr, "lend: %s: 1 to %u wanted\n", text, max);
		exit(2);
	}
	return (uint32_t)n;
}

static int
way_of(const char *name)
{
	for (int way = TCPX_LEND_AUTO; way <= TCPX_LEND_MSG; way++)
		if (!strcmp(name, tcpx_lend_name((enum tcpx_lend)way)))
			return way;
	fprintf(stderr, "lend: way %s: auto, copy, splice or msg_zerocopy wanted\n", name);
	exit(2);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "channels", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 't' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "slots", required_argument, NULL, 's' },
		{ "way", required_argument, NULL, 'w' },
		{ 0 },
	};
	struct settings set = { .channels = 1, .seconds = 2, .bytes = 1 << 20, .slots = 4,
				.way = -1 };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'n': set.channels = number(optarg, CHANNELS_MAX); break;
		case 't': set.seconds = number(optarg, 600); break;
		case 'b': set.bytes = number(optarg, 16 << 20); break;
		case 's': set.slots = number(optarg, 1024); break;
		case 'w': set.way = way_of(optarg); break;
		default:
			fprintf(stderr, "usage: lend [--channels N] [--seconds N] [--bytes N] "
				"[--slots N] [--way auto|copy|splice|msg_zerocopy]\n");
			return 2;
		}
	}
	printf("%u channels, messages of %u bytes, %u slots a channel\n", set.channels,
	       set.bytes, set.slots);
	if (set.way >= 0)
		measure(&set, (enum tcpx_lend)set.way);
	for (int way = TCPX_LEND_OFF; set.way < 0 && way <= TCPX_LEND_MSG; way++)
		measure(&set, (enum tcpx_lend)way);
	return 0;
}
