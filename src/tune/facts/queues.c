/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a NIC: from its directory, and from the kernel's answers. */
#include "tune/facts/queues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"

#define QUEUES_BYTES (4u << 20)
#define NOT_SAID "the kernel does not say"

enum { NETDEV_RX = 0, NETDEV_TX = 1 };

/* Parses "rx-12". False: not a queue's directory. */
static bool
parse_queue_name(const char *name, struct tcpx_nic_queue *q)
{
	uint64_t index;

	if ((strncmp(name, "rx-", 3) != 0 && strncmp(name, "tx-", 3) != 0) ||
	    tcpx_parse_count(name + 3, &index) < 0 || index > UINT16_MAX)
		return false;
	*q = (struct tcpx_nic_queue){ .tx = name[0] == 't', .index = (unsigned)index,
				      .napi = tcpx_maybe_not(NOT_SAID),
				      .irq = tcpx_maybe_not(NOT_SAID),
				      .pid = tcpx_maybe_not(NOT_SAID) };
	return true;
}

static void
read_steering(const char *root, const char *dir, struct tcpx_nic_queue *q)
{
	char path[512];

	if (!q->tx) {
		q->rxqs.why = "an RX queue has none";
		snprintf(path, sizeof(path), "%s/rps_cpus", dir);
		tcpx_maybe_mask(root, path, &q->steer);
		snprintf(path, sizeof(path), "%s/rps_flow_cnt", dir);
		q->flows = tcpx_maybe_number(root, path);
		return;
	}
	q->flows = tcpx_maybe_not("a TX queue has none");
	snprintf(path, sizeof(path), "%s/xps_cpus", dir);
	tcpx_maybe_mask(root, path, &q->steer);
	snprintf(path, sizeof(path), "%s/xps_rxqs", dir);
	tcpx_maybe_mask(root, path, &q->rxqs);
	/* a device with one queue lists the file, and it does not exist */
	if (q->steer.why && tcpx_io_exists(root, dir) && !strcmp(q->steer.why, "no such file"))
		q->steer.why = "none on a device with one queue";
}

static int
compare_queues(const void *a, const void *b)
{
	const struct tcpx_nic_queue *x = a, *y = b;

	if (x->tx != y->tx)
		return x->tx ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int
read_directory(const char *root, const char *ifname, struct tcpx_nic_queue **out,
	       unsigned *count)
{
	struct tcpx_nic_queue *queues;
	struct tcpx_io_names names;
	char path[128], dir[448];
	unsigned n = 0;

	*out = NULL;
	*count = 0;
	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", ifname);
	if (tcpx_io_list(root, path, &names) < 0)
		return 0;
	queues = calloc(names.count + 1, sizeof(*queues));
	if (!queues) {
		tcpx_io_names_free(&names);
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "facts of %u queues", names.count);
	}
	for (unsigned i = 0; i < names.count; i++) {
		if (!parse_queue_name(names.entry[i]->d_name, &queues[n]))
			continue;
		snprintf(dir, sizeof(dir), "%s/%s", path, names.entry[i]->d_name);
		read_steering(root, dir, &queues[n++]);
	}
	tcpx_io_names_free(&names);
	qsort(queues, n, sizeof(*queues), compare_queues);
	*out = queues;
	*count = n;
	return 0;
}

/* ---- the kernel's answers --------------------------------------------------------- */

struct said {
	struct tcpx_nic_queue *queues;
	unsigned count;
};

static struct tcpx_nic_queue *
find_queue(const struct said *said, bool tx, uint64_t index)
{
	for (unsigned i = 0; i < said->count; i++)
		if (said->queues[i].tx == tx && said->queues[i].index == index)
			return &said->queues[i];
	return NULL;
}

static void
take_queue(void *arg, struct tcpx_nlattrs attrs)
{
	uint64_t id = UINT64_MAX, type = UINT64_MAX, napi = 0, v;
	struct tcpx_nic_queue *q;

	while (tcpx_nlattr_next(&attrs)) {
		if (!tcpx_nlattr_number(&attrs, &v))
			continue;
		if (attrs.type == TCPX_NETDEV_QUEUE_ID)
			id = v;
		else if (attrs.type == TCPX_NETDEV_QUEUE_TYPE)
			type = v;
		else if (attrs.type == TCPX_NETDEV_QUEUE_NAPI)
			napi = v;
	}
	if (type != NETDEV_RX && type != NETDEV_TX)
		return;
	q = find_queue(arg, type == NETDEV_TX, id);
	if (q && napi)
		q->napi = tcpx_maybe_is((int64_t)napi);
}

static void
take_napi(void *arg, struct tcpx_nlattrs attrs)
{
	const struct said *said = arg;
	uint64_t id = 0, irq = UINT64_MAX, pid = 0, v;

	while (tcpx_nlattr_next(&attrs)) {
		if (!tcpx_nlattr_number(&attrs, &v))
			continue;
		if (attrs.type == TCPX_NETDEV_NAPI_ID)
			id = v;
		else if (attrs.type == TCPX_NETDEV_NAPI_IRQ)
			irq = v;
		else if (attrs.type == TCPX_NETDEV_NAPI_PID)
			pid = v;
	}
	for (unsigned i = 0; i < said->count; i++) {
		struct tcpx_nic_queue *q = &said->queues[i];

		if (q->napi.why || (uint64_t)q->napi.value != id)
			continue;
		if (irq <= INT32_MAX)
			q->irq = tcpx_maybe_is((int64_t)irq);
		if (pid)
			q->pid = tcpx_maybe_is((int64_t)pid);
		else
			q->pid = tcpx_maybe_not("no thread: it works in interrupts");
	}
}

static void
ask_kernel(struct tcpx_asker *a, unsigned ifindex, struct said *said)
{
	int rc = tcpx_asker_netdev(a, TCPX_NETDEV_QUEUE_GET, ifindex, take_queue, said);

	if (rc == 0)
		rc = tcpx_asker_netdev(a, TCPX_NETDEV_NAPI_GET, ifindex, take_napi, said);
	for (unsigned i = 0; rc < 0 && i < said->count; i++) {
		const char *why = rc == -ENOENT ? "the kernel has no netdev netlink family"
						: tcpx_maybe_why(rc);

		if (said->queues[i].napi.why)
			said->queues[i].napi.why = why;
		if (said->queues[i].irq.why)
			said->queues[i].irq.why = why;
		if (said->queues[i].pid.why)
			said->queues[i].pid.why = why;
	}
}

static void
take_field(const char *text, struct tcpx_maybe *out)
{
	uint64_t v;

	if (tcpx_parse_count(text, &v) == 0 && v <= INT32_MAX)
		*out = tcpx_maybe_is((int64_t)v);
}

static void
read_tree(const char *root, const char *ifname, struct said *said)
{
	char *text, *rest, *line, name[16], way[3], napi[16], irq[16], pid[16];
	struct tcpx_nic_queue *q;
	unsigned index;
	size_t len;

	if (tcpx_io_slurp(root, "/queues", QUEUES_BYTES, &text, &len) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%15s %2s %u %15s %15s %15s", name, way, &index, napi, irq,
			   pid) != 6 || strcmp(name, ifname))
			continue;
		q = find_queue(said, !strcmp(way, "tx"), index);
		if (!q)
			continue;
		take_field(napi, &q->napi);
		take_field(irq, &q->irq);
		take_field(pid, &q->pid);
	}
	free(text);
}

int
tcpx_queues_read(const char *root, struct tcpx_asker *a, const char *ifname, unsigned ifindex,
		 struct tcpx_nic_queue **out, unsigned *count)
{
	struct said said;
	int rc = read_directory(root, ifname, out, count);

	if (rc < 0)
		return rc;
	said = (struct said){ *out, *count };
	if (!tcpx_io_is_machine(root))
		read_tree(root, ifname, &said);
	else if (ifindex)
		ask_kernel(a, ifindex, &said);
	return 0;
}
