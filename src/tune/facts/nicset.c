/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of NICs: netlink first, ioctl where the kernel has no family for it, files. */
#include "tune/facts/nicset.h"

#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"

/* Commands of linux/ethtool_netlink.h, which headers before 5.6 lack. */
enum { FEATURES_GET = 11, RINGS_GET = 15, CHANNELS_GET = 17, COALESCE_GET = 19 };
enum { FEATURES_ACTIVE = 4, BITSET_BITS = 3, BITSET_BIT = 1, BIT_NAME = 2 };

#define SETTINGS_BYTES (1u << 20)
#define NOT_TOLD "the tree does not tell"
#define NOT_REPORTED "the driver does not report it"

enum group { CHANNELS, RINGS, COALESCE, FEATURES, SYSFS };

static const struct {
	const char *name;
	enum group group;
	unsigned attr;    /* of netlink's answer                        */
	const char *key;  /* a feature's name in the kernel; a file     */
} table[TCPX_NICSETS] = {
	[TCPX_NICSET_RX] = { "channels.rx", CHANNELS, 6, NULL },
	[TCPX_NICSET_RX_MAX] = { "channels.rx_max", CHANNELS, 2, NULL },
	[TCPX_NICSET_TX] = { "channels.tx", CHANNELS, 7, NULL },
	[TCPX_NICSET_TX_MAX] = { "channels.tx_max", CHANNELS, 3, NULL },
	[TCPX_NICSET_COMBINED] = { "channels.combined", CHANNELS, 9, NULL },
	[TCPX_NICSET_COMBINED_MAX] = { "channels.combined_max", CHANNELS, 5, NULL },
	[TCPX_NICSET_RING_RX] = { "rings.rx", RINGS, 6, NULL },
	[TCPX_NICSET_RING_RX_MAX] = { "rings.rx_max", RINGS, 2, NULL },
	[TCPX_NICSET_RING_TX] = { "rings.tx", RINGS, 9, NULL },
	[TCPX_NICSET_RING_TX_MAX] = { "rings.tx_max", RINGS, 5, NULL },
	[TCPX_NICSET_DATA_SPLIT] = { "rings.tcp_data_split", RINGS, 11, NULL },
	[TCPX_NICSET_RX_USECS] = { "coalesce.rx_usecs", COALESCE, 2, NULL },
	[TCPX_NICSET_RX_FRAMES] = { "coalesce.rx_frames", COALESCE, 3, NULL },
	[TCPX_NICSET_TX_USECS] = { "coalesce.tx_usecs", COALESCE, 6, NULL },
	[TCPX_NICSET_TX_FRAMES] = { "coalesce.tx_frames", COALESCE, 7, NULL },
	[TCPX_NICSET_ADAPTIVE_RX] = { "coalesce.adaptive_rx", COALESCE, 11, NULL },
	[TCPX_NICSET_ADAPTIVE_TX] = { "coalesce.adaptive_tx", COALESCE, 12, NULL },
	[TCPX_NICSET_GRO] = { "features.gro", FEATURES, 0, "rx-gro" },
	[TCPX_NICSET_GRO_HW] = { "features.gro_hw", FEATURES, 0, "rx-gro-hw" },
	[TCPX_NICSET_GSO] = { "features.gso", FEATURES, 0, "tx-generic-segmentation" },
	[TCPX_NICSET_TSO] = { "features.tso", FEATURES, 0, "tx-tcp-segmentation" },
	[TCPX_NICSET_LRO] = { "features.lro", FEATURES, 0, "rx-lro" },
	[TCPX_NICSET_NTUPLE] = { "features.ntuple", FEATURES, 0, "rx-ntuple-filter" },
	[TCPX_NICSET_RXHASH] = { "features.rxhash", FEATURES, 0, "rx-hashing" },
	[TCPX_NICSET_THREADED] = { "napi.threaded", SYSFS, 0, "threaded" },
	[TCPX_NICSET_DEFER_IRQS] = { "napi.defer_hard_irqs", SYSFS, 0, "napi_defer_hard_irqs" },
	[TCPX_NICSET_GRO_FLUSH] = { "napi.gro_flush_timeout_ns", SYSFS, 0, "gro_flush_timeout" },
};

const char *
tcpx_nicset_name(enum tcpx_nicset set)
{
	return (unsigned)set < TCPX_NICSETS ? table[set].name : "?";
}

static void
set_group(enum group group, struct tcpx_maybe value, struct tcpx_maybe *out)
{
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		if (table[i].group == group)
			out[i] = value;
}

/* ---- netlink ---------------------------------------------------------------------- */

static void
take_numbers(enum group group, struct tcpx_nlattrs attrs, struct tcpx_maybe *out)
{
	uint64_t v;

	while (tcpx_nlattr_next(&attrs))
		for (unsigned i = 0; i < TCPX_NICSETS; i++)
			if (table[i].group == group && table[i].attr == attrs.type &&
			    tcpx_nlattr_number(&attrs, &v))
				out[i] = tcpx_maybe_is((int64_t)v);
}

static void
take_feature(struct tcpx_nlattrs bit, struct tcpx_maybe *out)
{
	while (tcpx_nlattr_next(&bit))
		for (unsigned i = 0; i < TCPX_NICSETS; i++)
			if (bit.type == BIT_NAME && table[i].group == FEATURES &&
			    tcpx_nlattr_is(&bit, table[i].key))
				out[i] = tcpx_maybe_is(1);
}

/* The active features are listed by name; the others are off. */
static void
take_features(struct tcpx_nlattrs attrs, struct tcpx_maybe *out)
{
	while (tcpx_nlattr_next(&attrs)) {
		struct tcpx_nlattrs set = tcpx_nlattr_inside(&attrs);

		if (attrs.type != FEATURES_ACTIVE)
			continue;
		set_group(FEATURES, tcpx_maybe_is(0), out);
		while (tcpx_nlattr_next(&set)) {
			struct tcpx_nlattrs bits = tcpx_nlattr_inside(&set);

			while (set.type == BITSET_BITS && tcpx_nlattr_next(&bits))
				if (bits.type == BITSET_BIT)
					take_feature(tcpx_nlattr_inside(&bits), out);
		}
	}
}

static const struct {
	uint8_t command;
	enum group group;
} asked[] = {
	{ CHANNELS_GET, CHANNELS },
	{ RINGS_GET, RINGS },
	{ COALESCE_GET, COALESCE },
	{ FEATURES_GET, FEATURES },
};

#define ASKED (sizeof(asked) / sizeof(asked[0]))

void
tcpx_nicset_take(uint8_t command, struct tcpx_nlattrs attrs, struct tcpx_maybe *out)
{
	for (size_t i = 0; i < ASKED; i++) {
		if (asked[i].command != command)
			continue;
		if (asked[i].group == FEATURES)
			take_features(attrs, out);
		else
			take_numbers(asked[i].group, attrs, out);
	}
}

struct answer {
	uint8_t command;
	struct tcpx_maybe *out;
};

static void
take(void *arg, struct tcpx_nlattrs attrs)
{
	const struct answer *answer = arg;

	tcpx_nicset_take(answer->command, attrs, answer->out);
}

static void
ask_netlink(struct tcpx_asker *a, unsigned ifindex, struct tcpx_maybe *out)
{
	for (size_t i = 0; i < ASKED; i++) {
		struct answer answer = { asked[i].command, out };
		int rc;

		set_group(asked[i].group, tcpx_maybe_not(NOT_REPORTED), out);
		rc = tcpx_asker_ethtool(a, answer.command, ifindex, take, &answer);
		if (rc < 0)
			set_group(asked[i].group, tcpx_maybe_not(tcpx_maybe_why(rc)), out);
	}
}

/* ---- ioctl ------------------------------------------------------------------------ */

static void
ask_ioctl_numbers(struct tcpx_asker *a, const char *ifname, struct tcpx_maybe *out)
{
	struct ethtool_channels ch = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_coalesce co = { .cmd = ETHTOOL_GCOALESCE };
	const char *why = tcpx_maybe_why(tcpx_asker_ioctl(a, ifname, &ch));

	out[TCPX_NICSET_RX] = (struct tcpx_maybe){ ch.rx_count, why };
	out[TCPX_NICSET_RX_MAX] = (struct tcpx_maybe){ ch.max_rx, why };
	out[TCPX_NICSET_TX] = (struct tcpx_maybe){ ch.tx_count, why };
	out[TCPX_NICSET_TX_MAX] = (struct tcpx_maybe){ ch.max_tx, why };
	out[TCPX_NICSET_COMBINED] = (struct tcpx_maybe){ ch.combined_count, why };
	out[TCPX_NICSET_COMBINED_MAX] = (struct tcpx_maybe){ ch.max_combined, why };

	why = tcpx_maybe_why(tcpx_asker_ioctl(a, ifname, &ring));
	out[TCPX_NICSET_RING_RX] = (struct tcpx_maybe){ ring.rx_pending, why };
	out[TCPX_NICSET_RING_RX_MAX] = (struct tcpx_maybe){ ring.rx_max_pending, why };
	out[TCPX_NICSET_RING_TX] = (struct tcpx_maybe){ ring.tx_pending, why };
	out[TCPX_NICSET_RING_TX_MAX] = (struct tcpx_maybe){ ring.tx_max_pending, why };
	out[TCPX_NICSET_DATA_SPLIT] = tcpx_maybe_not("only netlink tells");

	why = tcpx_maybe_why(tcpx_asker_ioctl(a, ifname, &co));
	out[TCPX_NICSET_RX_USECS] = (struct tcpx_maybe){ co.rx_coalesce_usecs, why };
	out[TCPX_NICSET_RX_FRAMES] = (struct tcpx_maybe){ co.rx_max_coalesced_frames, why };
	out[TCPX_NICSET_TX_USECS] = (struct tcpx_maybe){ co.tx_coalesce_usecs, why };
	out[TCPX_NICSET_TX_FRAMES] = (struct tcpx_maybe){ co.tx_max_coalesced_frames, why };
	out[TCPX_NICSET_ADAPTIVE_RX] = (struct tcpx_maybe){ co.use_adaptive_rx_coalesce, why };
	out[TCPX_NICSET_ADAPTIVE_TX] = (struct tcpx_maybe){ co.use_adaptive_tx_coalesce, why };
}

static void
ask_ioctl_features(struct tcpx_asker *a, const char *ifname, struct tcpx_maybe *out)
{
	static const struct {
		enum tcpx_nicset set;
		uint32_t command, bit; /* @bit of the answer, or the whole answer */
	} questions[] = {
		{ TCPX_NICSET_GRO, ETHTOOL_GGRO, UINT32_MAX },
		{ TCPX_NICSET_GSO, ETHTOOL_GGSO, UINT32_MAX },
		{ TCPX_NICSET_TSO, ETHTOOL_GTSO, UINT32_MAX },
		{ TCPX_NICSET_LRO, ETHTOOL_GFLAGS, ETH_FLAG_LRO },
		{ TCPX_NICSET_NTUPLE, ETHTOOL_GFLAGS, ETH_FLAG_NTUPLE },
		{ TCPX_NICSET_RXHASH, ETHTOOL_GFLAGS, ETH_FLAG_RXHASH },
	};

	out[TCPX_NICSET_GRO_HW] = tcpx_maybe_not("only netlink tells");
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct ethtool_value v = { .cmd = questions[i].command };
		int rc = tcpx_asker_ioctl(a, ifname, &v);

		out[questions[i].set] = (struct tcpx_maybe){ (v.data & questions[i].bit) != 0,
							     tcpx_maybe_why(rc) };
	}
}

/* ---- files ------------------------------------------------------------------------ */

static void
take_line(const char *line, const char *ifname, struct tcpx_maybe *out)
{
	char name[16], setting[64];
	long long v;
	int end = 0;

	if (sscanf(line, "%15s %63s %lld %n", name, setting, &v, &end) < 3 || line[end] ||
	    strcmp(name, ifname))
		return;
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		if (!strcmp(table[i].name, setting))
			out[i] = tcpx_maybe_is(v);
}

static void
read_tree(const char *root, const char *ifname, struct tcpx_maybe *out)
{
	char *text, *rest, *line;
	size_t len;

	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		out[i] = tcpx_maybe_not(NOT_TOLD);
	if (tcpx_io_slurp(root, "/settings", SETTINGS_BYTES, &text, &len) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(line, ifname, out);
	free(text);
}

static void
read_sysfs(const char *root, const char *ifname, unsigned ifindex, struct tcpx_maybe *out)
{
	struct tcpx_maybe index;
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", ifname);
	index = tcpx_maybe_number(root, path);
	if (tcpx_io_is_machine(root) && (index.why || (uint64_t)index.value != ifindex)) {
		set_group(SYSFS, tcpx_maybe_not("/sys shows another network namespace"), out);
		return;
	}
	for (unsigned i = 0; i < TCPX_NICSETS; i++) {
		if (table[i].group != SYSFS)
			continue;
		snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, table[i].key);
		out[i] = tcpx_maybe_number(root, path);
	}
}

void
tcpx_nicset_read(const char *root, struct tcpx_asker *a, const char *ifname, unsigned ifindex,
		 struct tcpx_maybe *out)
{
	if (!tcpx_io_is_machine(root)) {
		read_tree(root, ifname, out);
	} else if (a->ethtool >= 0 && ifindex) {
		ask_netlink(a, ifindex, out);
	} else if (a->ioctl_fd >= 0) {
		ask_ioctl_numbers(a, ifname, out);
		ask_ioctl_features(a, ifname, out);
	} else {
		for (unsigned i = 0; i < TCPX_NICSETS; i++)
			out[i] = tcpx_maybe_not("the kernel cannot be asked");
	}
	/* a failed question leaves no value */
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		if (out[i].why)
			out[i].value = 0;
	read_sysfs(root, ifname, ifindex, out);
}
