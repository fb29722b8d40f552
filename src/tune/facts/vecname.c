/* SPDX-License-Identifier: Apache-2.0 */
/* Names and order of vectors: one table of drivers' names. */
#include "tune/facts/vecname.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK TCPX_VECTOR_KINDS /* of gve: the number decides */

/* The first match counts. */
static const struct {
	const char *driver; /* its beginning; NULL: any */
	const char *word;   /* in the name              */
	unsigned kind;      /* a number must follow, except for MGMT */
} rules[] = {
	{ "gve", "-ntfy-blk", BLOCK },
	{ "gve", "-ntfy-block.", BLOCK },
	{ "gve", "-mgmnt", TCPX_VECTOR_MGMT },
	{ "mlx5", "mlx5_comp", TCPX_VECTOR_TXRX },
	{ "mlx5", "mlx5_combined", TCPX_VECTOR_TXRX },
	{ "mlx5", "mlx5_async", TCPX_VECTOR_MGMT },
	{ "mlx5", "mlx5_pages", TCPX_VECTOR_MGMT },
	{ "mlx5", "mlx5_cmd", TCPX_VECTOR_MGMT },
	{ "ena", "-Tx-Rx-", TCPX_VECTOR_TXRX },
	{ "ena", "ena-mgmnt", TCPX_VECTOR_MGMT },
	{ "virtio", "-input.", TCPX_VECTOR_RX },
	{ "virtio", "-output.", TCPX_VECTOR_TX },
	{ "virtio", "-config", TCPX_VECTOR_MGMT },
	{ "virtio", "-control", TCPX_VECTOR_MGMT },
	{ "idpf", "ailbox", TCPX_VECTOR_MGMT },
	{ "mana", "mana_q", TCPX_VECTOR_TXRX },
	{ "mana", "mana_hwc", TCPX_VECTOR_MGMT },
	{ "vmxnet3", "-event-", TCPX_VECTOR_MGMT },
	{ "bnx2x", "-fp-", TCPX_VECTOR_TXRX },
	{ NULL, "TxRx-", TCPX_VECTOR_TXRX },
	{ NULL, "txrx-", TCPX_VECTOR_TXRX },
	{ NULL, "rxtx-", TCPX_VECTOR_TXRX },
	{ NULL, "-rx-", TCPX_VECTOR_RX },
	{ NULL, "-tx-", TCPX_VECTOR_TX },
	{ NULL, ":misc", TCPX_VECTOR_MGMT },
};

static bool
of_driver(const char *rule, const char *driver)
{
	return !rule || !*driver || !strncmp(driver, rule, strlen(rule));
}

/* The number at @p if only an allowed suffix follows; -1: none. */
static int
number_at(const char *p)
{
	char *end;
	long v;

	if (*p < '0' || *p > '9')
		return -1;
	v = strtol(p, &end, 10);
	if (v > SHRT_MAX || (*end && !strchr("@-, ", *end)))
		return -1;
	return (int)v;
}

static bool
parse_one(const char *driver, const char *name, struct tcpx_vecname *out)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const char *at = of_driver(rules[i].driver, driver)
				 ? strstr(name, rules[i].word) : NULL;
		int index = at ? number_at(at + strlen(rules[i].word)) : -1;

		if (!at || (index < 0 && rules[i].kind != TCPX_VECTOR_MGMT))
			continue;
		out->block = rules[i].kind == BLOCK;
		out->kind = out->block ? TCPX_VECTOR_UNKNOWN
				       : (enum tcpx_vector_kind)rules[i].kind;
		out->index = out->kind == TCPX_VECTOR_MGMT ? -1 : index;
		return true;
	}
	return false;
}

bool
tcpx_vecname_parse(const char *driver, const char *name, struct tcpx_vecname *out)
{
	char one[256];

	while (*name) {
		const char *end = strstr(name, ", ");
		size_t len = end ? (size_t)(end - name) : strlen(name);

		if (len < sizeof(one)) {
			memcpy(one, name, len);
			one[len] = '\0';
			if (parse_one(driver, one, out))
				return true;
		}
		name += end ? len + 2 : len;
	}
	return false;
}

/* gve's blocks count both directions: the number of one direction. */
static int
blocks_each_way(const char *driver, const struct tcpx_nic_vector *v, unsigned count)
{
	struct tcpx_vecname name;
	int last = -1;

	for (unsigned i = 0; i < count; i++)
		if (tcpx_vecname_parse(driver, v[i].v.name, &name) && name.block &&
		    name.index > last)
			last = name.index;
	return (last + 1) % 2 ? 0 : (last + 1) / 2;
}

/* 1 where channels count from 1, as on some kernels of mlx5, and where the first vector of
 * tg3 is its link's. */
static int
first_channel(const char *driver, const struct tcpx_nic_vector *v, unsigned count)
{
	struct tcpx_vecname name;
	int first = INT_MAX;

	if (strncmp(driver, "mlx5", 4) != 0 && strcmp(driver, "tg3") != 0)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (tcpx_vecname_parse(driver, v[i].v.name, &name) &&
		    name.kind == TCPX_VECTOR_TXRX && name.index < first)
			first = name.index;
	return first == 1;
}

static void
map_by_name(const char *driver, struct tcpx_nic_vector *v, unsigned count)
{
	int each = blocks_each_way(driver, v, count), first = first_channel(driver, v, count);
	struct tcpx_vecname name;

	for (unsigned i = 0; i < count; i++) {
		if (v[i].v.source == TCPX_VECTOR_NETDEV ||
		    !tcpx_vecname_parse(driver, v[i].v.name, &name) || (name.block && !each))
			continue;
		v[i].v.source = TCPX_VECTOR_NAME;
		v[i].v.kind = name.kind;
		v[i].v.queue = name.index < 0 ? -1 : name.index - first;
		if (name.block) {
			v[i].v.kind = name.index < each ? TCPX_VECTOR_TX : TCPX_VECTOR_RX;
			v[i].v.queue = name.index % each;
		}
	}
}

/* gve has n for TX, n for RX and one more, in this order, even while they have no action
 * because the interface is down. */
static void
map_by_order(const char *driver, struct tcpx_nic_vector *v, unsigned count)
{
	unsigned each = count / 2;

	if (strcmp(driver, "gve") != 0 || count < 3 || count % 2 == 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		if (v[i].v.source != TCPX_VECTOR_NOT || v[i].v.name[0])
			continue;
		v[i].v.source = TCPX_VECTOR_ORDER;
		v[i].v.kind = i == count - 1 ? TCPX_VECTOR_MGMT :
			    i < each ? TCPX_VECTOR_TX : TCPX_VECTOR_RX;
		v[i].v.queue = i == count - 1 ? -1 : (int)(i % each);
	}
}

void
tcpx_vectors_map(const char *driver, struct tcpx_nic_vector *v, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (v[i].v.source == TCPX_VECTOR_NETDEV)
			continue;
		v[i].v.source = TCPX_VECTOR_NOT;
		v[i].v.kind = TCPX_VECTOR_UNKNOWN;
		v[i].v.queue = -1;
	}
	map_by_name(driver, v, count);
	map_by_order(driver, v, count);
}
