/* SPDX-License-Identifier: Apache-2.0 */
/* The NIC map by table: the answer a person would draw for real machines. */
#include <errno.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/netmap.h"

#define FAR 3 /* another node */

/* Eight GPUs, four NICs; each NIC on the switch of two GPUs; networks 11 to 14. */
static void
a3(struct tcpx_netmap_nic nic[4])
{
	for (int i = 0; i < 4; i++) {
		nic[i] = (struct tcpx_netmap_nic){ .network = 11 + (uint64_t)i, .used = true };
		snprintf(nic[i].name, sizeof(nic[i].name), "eth%d", i + 1);
		for (int g = 0; g < 8; g++)
			nic[i].distance[g] = g / 2 == i ? 0 : g / 4 == i / 2 ? 2 : FAR;
	}
}

/* Channels on each NIC when every GPU has @channels to the same GPU of a like machine. */
static void
share_out(const char *name, const struct tcpx_netmap_side *machine, uint32_t channels,
	  unsigned load[TCPX_NETMAP_NICS])
{
	memset(load, 0, TCPX_NETMAP_NICS * sizeof(load[0]));
	for (uint32_t g = 0; g < machine->gpu_count; g++) {
		struct tcpx_netmap_offer offer[TCPX_NETMAP_NICS];
		struct tcpx_netmap_channel out[TCPX_NETMAP_CHANNELS];
		struct tcpx_netmap_side s = *machine;
		struct tcpx_netmap_text why;
		int n;

		s.gpu = (int)g;
		assert_true(tcpx_netmap_offers(&s, offer, &why) > 0);
		n = tcpx_netmap_plan(offer, s.nic_count, channels, offer, s.nic_count, channels, out,
				     &why);
		check(name, "channels", n, (long)channels);
		for (int k = 0; k < n; k++)
			load[out[k].near]++;
	}
}

TEST(all_gpus_together_use_all_nics_alike)
{
	static const struct {
		const char *name;
		uint32_t channels;
		bool known;        /* the distances, else by TCPX_MAP */
		const char *unused;
		unsigned load[4];
	} cases[] = {
		{ "own NICs alone", 1, true, "", { 2, 2, 2, 2 } },
		{ "8 GPUs of two channels", 2, true, "", { 4, 4, 4, 4 } },
		{ "of three", 3, true, "", { 6, 6, 6, 6 } },
		{ "of four", 4, true, "", { 8, 8, 8, 8 } },
		{ "of seven", 7, true, "", { 14, 14, 14, 14 } },
		{ "no distance is known", 2, false, "", { 4, 4, 4, 4 } },
		{ "of three", 3, false, "", { 6, 6, 6, 6 } },
		{ "a NIC is not used", 1, true, "eth4", { 2, 2, 4, 0 } },
		{ "and two channels", 2, true, "eth4", { 6, 6, 4, 0 } },
		{ "far ones", 3, true, "eth4", { 8, 8, 8, 0 } },
		{ "by order alone", 2, false, "eth4", { 5, 6, 5, 0 } },
	};
	static const char map[] = "gpu0=eth1;gpu1=eth1;gpu2=eth2;gpu3=eth2;gpu4=eth3;gpu5=eth3;"
				  "gpu6=eth4;gpu7=eth4";

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned load[TCPX_NETMAP_NICS];
		struct tcpx_netmap_rules rules;
		struct tcpx_netmap_nic nic[4];
		struct tcpx_netmap_side s = { .nic = nic, .nic_count = 4, .gpu_count = 8,
					      .process = 0xff, .relay = true, .rules = &rules };

		a3(nic);
		for (int k = 0; k < 4; k++) {
			nic[k].used = strcmp(nic[k].name, cases[i].unused) != 0;
			if (!cases[i].known)
				memset(nic[k].distance, TCPX_NETMAP_UNKNOWN, sizeof(nic[k].distance));
		}
		assert_int_equal(tcpx_netmap_parse(cases[i].known ? "" : map, &rules), 0);
		share_out(cases[i].name, &s, cases[i].channels, load);
		for (int k = 0; k < 4; k++)
			check(cases[i].name, nic[k].name, load[k], cases[i].load[k]);
	}
}

/* "eth1=gpu0 eth2=gpu2+ eth3=-": by which GPU, "+" relayed, "-" not at all. */
static void
offers_text(const struct tcpx_netmap_offer *o, uint32_t count, char *buf)
{
	buf[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		char gpu[16];

		snprintf(gpu, sizeof(gpu), o[i].gpu < 0 ? "host" : "gpu%d", o[i].gpu);
		sprintf(buf + strlen(buf), "%s%s=%s%s", i ? " " : "", o[i].name,
			o[i].usable ? gpu : "-", o[i].relayed ? "+" : "");
	}
}

static const struct {
	const char *name;
	int gpu;
	uint32_t process;
	bool relay;
	const char *map, *unused; /* unused: one NIC */
	const char *offers, *line; /* line: part of the reasons */
} a3_cases[] = {
	{ "one GPU alone", 0, 1 << 0, true, "", "", "eth1=gpu0 eth2=- eth3=- eth4=-",
	  "eth2 is left out: it belongs to gpu2, gpu3, none of this process" },
	{ "its neighbour on the switch", 1, 1 << 1, true, "", "", "eth1=gpu1 eth2=- eth3=- eth4=-",
	  "eth1 is gpu1's own\n" },
	{ "the last", 7, 1 << 7, true, "", "", "eth1=- eth2=- eth3=- eth4=gpu7", "" },
	{ "all GPUs in one process", 0, 0xff, true, "", "",
	  "eth1=gpu0 eth2=gpu2+ eth3=gpu4+ eth4=gpu6+",
	  "eth3 is relayed: it belongs to gpu4, which copies for gpu0" },
	{ "a neighbour's relays are the neighbours", 1, 0xff, true, "", "",
	  "eth1=gpu1 eth2=gpu3+ eth3=gpu5+ eth4=gpu7+", "" },
	{ "relay off", 0, 0xff, false, "", "", "eth1=gpu0 eth2=- eth3=- eth4=-",
	  "eth2 is left out: it belongs to gpu2, gpu3, and TCPX_RELAY is off" },
	{ "some of the GPUs", 4, 0x38, true, "", "", "eth1=- eth2=gpu3+ eth3=gpu4 eth4=-", "" },
	{ "host memory and all GPUs", -1, 0xff, true, "", "",
	  "eth1=gpu0 eth2=gpu2 eth3=gpu4 eth4=gpu6", "eth2 carries host memory by way of gpu2" },
	{ "host memory needs no relay", -1, 0x04, false, "", "", "eth1=- eth2=gpu2 eth3=- eth4=-",
	  "" },
	{ "host memory without GPUs", -1, 0, true, "", "", "eth1=host eth2=host eth3=host eth4=host",
	  "eth1 carries host memory, without a GPU" },
	{ "a NIC is not used", 0, 0xff, true, "", "eth2", "eth1=gpu0 eth2=- eth3=gpu4+ eth4=gpu6+",
	  "eth2 is not used by this engine" },
	{ "not to use its own leaves the relays", 0, 0xff, true, "", "eth1",
	  "eth1=- eth2=gpu2+ eth3=gpu4+ eth4=gpu6+", "" },
	{ "a rule that says what is so", 0, 0x01, true, "gpu0=eth1", "",
	  "eth1=gpu0 eth2=- eth3=- eth4=-", "eth1 is gpu0's own, as TCPX_MAP says" },
	{ "a rule for others", 0, 0x01, true, "gpu4=eth3;gpu6=eth4", "",
	  "eth1=gpu0 eth2=- eth3=- eth4=-", "" },
};

TEST(a3_high)
{
	for (size_t i = 0; i < ARRAY_LEN(a3_cases); i++) {
		struct tcpx_netmap_rules rules;
		struct tcpx_netmap_nic nic[4];
		struct tcpx_netmap_side s = { .nic = nic, .nic_count = 4, .gpu_count = 8,
					      .process = a3_cases[i].process,
					      .gpu = a3_cases[i].gpu, .relay = a3_cases[i].relay,
					      .rules = &rules };
		struct tcpx_netmap_offer offer[4];
		struct tcpx_netmap_text why;
		char text[256];
		int n = 0;

		a3(nic);
		for (int k = 0; k < 4; k++)
			nic[k].used = strcmp(nic[k].name, a3_cases[i].unused) != 0;
		assert_int_equal(tcpx_netmap_parse(a3_cases[i].map, &rules), 0);
		n = tcpx_netmap_offers(&s, offer, &why);
		offers_text(offer, 4, text);
		check_text(a3_cases[i].name, text, a3_cases[i].offers);
		for (int k = 0; k < 4; k++)
			n -= offer[k].usable;
		check(a3_cases[i].name, "count less what is usable", n, 0);
		check_has(why.text, a3_cases[i].line);
		for (int k = 0; k < 4; k++)
			check_has(why.text, nic[k].name); /* each has its reason */
	}
}

TEST(what_cannot_be_is_refused)
{
	static const struct {
		const char *name;
		int gpu;
		uint32_t process;
		const char *map, *unused;
		int code;
		const char *says[3];
	} cases[] = {
		{ "a NIC of another GPU", 0, 0xff, "gpu0=eth3", "", TCPX_ECONFIG,
		  { "gpu0", "eth3", "nearest NIC alone: eth1" } },
		{ "one right, one wrong", 0, 0xff, "gpu0=eth1,eth2", "", TCPX_ECONFIG, { "eth2" } },
		{ "wrong for another GPU", 0, 1, "gpu5=eth4", "", TCPX_ECONFIG, { "gpu5", "eth3" } },
		{ "no such NIC", 0, 1, "gpu0=eth9", "", TCPX_ECONFIG,
		  { "eth9", "eth1, eth2, eth3, eth4" } },
		{ "no such GPU", 0, 1, "gpu9=eth1", "", TCPX_ECONFIG, { "gpu9", "there are 8" } },
		{ "its own is not used", 0, 1, "", "eth1", -ENODEV, { "gpu0's own is eth1" } },
		{ "not of the process", 0, 2, "", "", -EINVAL, { "0x2", "GPU 0" } },
		{ "no GPU of the machine", 8, 0x1ff, "", "", -EINVAL, { "8 GPUs" } },
		{ "not memory at all", -2, 1, "", "", -EINVAL, { "GPU -2" } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tcpx_netmap_rules rules;
		struct tcpx_netmap_nic nic[4];
		struct tcpx_netmap_side s = { .nic = nic, .nic_count = 4, .gpu_count = 8,
					      .process = cases[i].process, .gpu = cases[i].gpu,
					      .relay = true, .rules = &rules };
		struct tcpx_netmap_offer offer[4];
		struct tcpx_netmap_text why;
		char last[512];

		a3(nic);
		for (int k = 0; k < 4; k++)
			nic[k].used = strcmp(nic[k].name, cases[i].unused) != 0;
		assert_int_equal(tcpx_netmap_parse(cases[i].map, &rules), 0);
		check(cases[i].name, "code", tcpx_netmap_offers(&s, offer, &why), cases[i].code);
		tcpx_err_last(last, sizeof(last));
		for (int k = 0; k < 3 && cases[i].says[k]; k++)
			check_has(last, cases[i].says[k]);
	}
}

TEST(distances_may_be_unknown)
{
	struct tcpx_netmap_nic nic[2] = { { .name = "eth0", .used = true },
					  { .name = "eth1", .used = true } };
	struct tcpx_netmap_side s = { .nic = nic, .nic_count = 2, .gpu_count = 2, .process = 3,
				      .gpu = 0, .relay = true };
	struct tcpx_netmap_offer offer[2];
	struct tcpx_netmap_rules rules;
	struct tcpx_netmap_text why;
	char last[512];

	for (int i = 0; i < 2; i++)
		memset(nic[i].distance, TCPX_NETMAP_UNKNOWN, sizeof(nic[i].distance));
	assert_int_equal(tcpx_netmap_offers(&s, offer, &why), -ENODEV);
	tcpx_err_last(last, sizeof(last));
	check_has(last, "TCPX_MAP=gpu0=NIC");
	/* then what TCPX_MAP says is all that is known */
	assert_int_equal(tcpx_netmap_parse("gpu0=eth1;gpu1=eth0", &rules), 0);
	s.rules = &rules;
	assert_int_equal(tcpx_netmap_offers(&s, offer, &why), 2);
	assert_int_equal(offer[0].gpu, 1);
	assert_true(offer[0].relayed);
	assert_int_equal(offer[1].gpu, 0);
	assert_int_equal(tcpx_netmap_parse("gpu0=eth0,eth1", &rules), 0);
	assert_int_equal(tcpx_netmap_offers(&s, offer, &why), 2);
	assert_false(offer[0].relayed || offer[1].relayed);
	/* the only NIC of a machine is everybody's */
	s.rules = NULL;
	s.nic_count = 1;
	assert_int_equal(tcpx_netmap_offers(&s, offer, &why), 1);
	assert_int_equal(offer[0].gpu, 0);
}

TEST(two_nics_may_be_equally_near)
{
	struct tcpx_netmap_nic nic[3] = { { .name = "a", .used = true, .distance = { 1 } },
					  { .name = "b", .used = true, .distance = { 1 } },
					  { .name = "c", .used = true, .distance = { 2 } } };
	struct tcpx_netmap_side s = { .nic = nic, .nic_count = 3, .gpu_count = 1, .process = 1,
				      .gpu = 0, .relay = true };
	struct tcpx_netmap_offer offer[3];
	struct tcpx_netmap_text why;

	assert_int_equal(tcpx_netmap_offers(&s, offer, &why), 2);
	assert_true(offer[0].usable && offer[1].usable && !offer[2].usable);
}

/* ---- both sides ------------------------------------------------------------------- */

/* "e1@11:0 e2@12:2+ e3@0:h e4@14:-": name, network, GPU; "h" host, "+" relayed, "-" not. */
static uint32_t
offers_parse(const char *text, struct tcpx_netmap_offer *o)
{
	uint32_t n = 0;

	while (*text) {
		char gpu[8] = "";
		unsigned long network;
		int used;

		memset(&o[n], 0, sizeof(o[n]));
		assert_int_equal(sscanf(text, "%31[^@]@%lu:%7s%n", o[n].name, &network, gpu, &used), 3);
		o[n].network = network;
		o[n].usable = gpu[0] != '-';
		o[n].relayed = strchr(gpu, '+') != NULL;
		o[n].gpu = gpu[0] >= '0' && gpu[0] <= '9' ? (int16_t)atoi(gpu) : -1;
		n++;
		text += used;
		text += *text == ' ';
	}
	return n;
}

static const struct {
	const char *name, *opener, *acceptor;
	uint32_t channels[2];
	const char *want; /* "0-0 1-1", NULL: -ENONET */
	const char *line; /* part of the reasons, or of the message */
} plan_cases[] = {
	{ "one NIC each", "eth1@11:0", "eth1@11:0", { 1, 1 }, "0-0",
	  "eth1 (gpu0) to eth1 (gpu0): 1 channel\n" },
	{ "several channels on it", "eth1@11:0", "eth1@11:1", { 4, 4 }, "0-0 0-0 0-0 0-0",
	  "eth1 (gpu0) to eth1 (gpu1): 4 channels" },
	{ "the smaller number is made", "eth1@11:0", "eth1@11:0", { 8, 2 }, "0-0 0-0", "" },
	{ "and the other way round", "eth1@11:0", "eth1@11:0", { 3, 8 }, "0-0 0-0 0-0", "" },
	{ "four NICs, as many channels", "a@1:0 b@2:2+ c@3:4+ d@4:6+", "a@1:1 b@2:3+ c@3:5+ d@4:7+",
	  { 4, 4 }, "0-0 1-1 2-2 3-3", "b (gpu2, relayed) to b (gpu3, relayed): 1 channel" },
	{ "its own NIC comes first", "a@1:0+ b@2:2+ c@3:4 d@4:6+", "a@1:1+ b@2:3+ c@3:5 d@4:7+",
	  { 2, 2 }, "2-2 0-0", "" },
	{ "own on both sides before own on one", "a@1:0 b@2:2+ c@3:4", "a@1:1+ b@2:3+ c@3:5",
	  { 3, 3 }, "2-2 0-0 1-1", "" },
	{ "more channels than pairs", "a@1:0 b@2:2+ c@3:4+", "a@1:0 b@2:2+ c@3:4+", { 7, 8 },
	  "0-0 1-1 2-2 0-0 1-1 2-2 0-0", "a (gpu0) to a (gpu0): 3 channels" },
	{ "other order there", "a@1:0 b@2:0", "b@2:0 a@1:0", { 2, 2 }, "0-1 1-0", "" },
	{ "GPUs of different places share no network", "eth1@11:0", "eth3@13:4", { 1, 1 }, NULL,
	  "of the opener (eth1, ...) and of the acceptor (eth3, ...)" },
	{ "relays make them meet", "eth1@11:0 eth3@13:4+", "eth1@11:0+ eth3@13:4", { 4, 4 },
	  "0-0 1-1 0-0 1-1", "" },
	{ "what is not usable is not used", "a@1:0 b@2:-", "a@1:0 b@2:0", { 2, 2 }, "0-0 0-0",
	  "the acceptor's b is left out" },
	{ "nothing usable here", "a@1:-", "a@1:0", { 2, 2 }, NULL, "the opener offers none" },
	{ "nothing usable there", "a@1:0", "a@1:- b@2:-", { 2, 2 }, NULL,
	  "the acceptor offers none of its 2" },
	{ "two of a network and one", "a@1:0 b@1:0", "c@1:0", { 4, 4 }, "0-0 1-0 0-0 1-0", "" },
	{ "one of a network and three", "a@1:0", "c@1:0 d@1:0 e@1:0", { 3, 3 }, "0-0 0-1 0-2", "" },
	{ "two networks, uneven", "a@1:0 b@2:0 c@2:0", "x@2:0 y@1:0", { 3, 3 }, "0-1 1-0 2-0", "" },
	{ "unknown on both sides: by order", "a@0:0 b@0:0", "x@0:0 y@0:0", { 2, 2 }, "0-0 1-1",
	  "by order, for a network is unknown" },
	{ "unknown on both sides: by name first", "a@0:0 b@0:0 c@0:0", "c@0:0 a@0:0 x@0:0", { 3, 3 },
	  "0-1 1-2 2-0", "a (gpu0) to a (gpu0): 1 channel; by name, for a network is unknown" },
	{ "a NIC whose namesake is down is left out", "eth1@0:0 eth2@0:0 eth3@0:0", "eth1@0:0 eth3@0:0",
	  { 4, 4 }, "0-0 2-1 0-0 2-1", "the opener's eth2 is left out" },
	{ "unknown on one side, by name", "a@0:0 b@0:0", "b@7:0 a@8:0", { 2, 2 }, "0-1 1-0", "by name" },
	{ "unknown on one side", "a@0:0", "x@7:0", { 2, 2 }, "0-0 0-0", "by order" },
	{ "known before unknown", "a@0:0 b@2:0", "x@2:0 y@0:0", { 2, 2 }, "0-1 1-0", "" },
	{ "unknown with what is left", "a@0:0 b@2:0", "x@2:0 y@3:0", { 2, 2 }, "0-1 1-0", "" },
	{ "host memory", "a@1:h", "a@1:h", { 2, 2 }, "0-0 0-0", "a (host) to a (host)" },
};

TEST(plans_by_table)
{
	for (size_t i = 0; i < ARRAY_LEN(plan_cases); i++) {
		struct tcpx_netmap_offer near[TCPX_NETMAP_NICS], far[TCPX_NETMAP_NICS];
		struct tcpx_netmap_channel out[TCPX_NETMAP_CHANNELS];
		uint32_t n = offers_parse(plan_cases[i].opener, near);
		uint32_t m = offers_parse(plan_cases[i].acceptor, far);
		struct tcpx_netmap_text why;
		char text[256] = "", last[512];
		int rc;

		rc = tcpx_netmap_plan(near, n, plan_cases[i].channels[0], far, m,
				      plan_cases[i].channels[1], out, &why);
		tcpx_err_last(last, sizeof(last));
		if (!plan_cases[i].want) {
			check(plan_cases[i].name, "code", rc, -ENONET);
			check_has(last, plan_cases[i].line);
			continue;
		}
		for (int k = 0; k < rc; k++) {
			sprintf(text + strlen(text), "%s%u-%u", k ? " " : "", out[k].near, out[k].far);
			assert_int_equal(out[k].near_gpu, near[out[k].near].gpu);
			assert_int_equal(out[k].far_gpu, far[out[k].far].gpu);
		}
		check_text(plan_cases[i].name, text, plan_cases[i].want);
		check_has(why.text, plan_cases[i].line);
	}
}

TEST(a_plan_has_limits)
{
	struct tcpx_netmap_offer o[TCPX_NETMAP_NICS + 1] = { { .name = "a", .usable = true } };
	struct tcpx_netmap_channel out[TCPX_NETMAP_CHANNELS];
	struct tcpx_netmap_text why;

	assert_int_equal(tcpx_netmap_plan(o, 1, 0, o, 1, 1, out, &why), -EINVAL);
	assert_int_equal(tcpx_netmap_plan(o, TCPX_NETMAP_NICS + 1, 1, o, 1, 1, out, &why), -EINVAL);
	assert_int_equal(tcpx_netmap_plan(o, 1, 1000, o, 1, 1000, out, &why), TCPX_NETMAP_CHANNELS);
}

/* ---- TCPX_MAP -------------------------------------------------------------------- */

TEST(maps_are_read)
{
	static const struct {
		const char *text, *again;
		uint32_t count;
	} cases[] = {
		{ "", "", 0 },
		{ "gpu0=eth1", "gpu0=eth1", 1 },
		{ "gpu0=eth1;gpu4=eth3", "gpu0=eth1;gpu4=eth3", 2 },
		{ "gpu15=eth1,eth2;", "gpu15=eth1,eth2", 2 },
		{ "gpu1=fe80::1%eth0", "gpu1=fe80::1%eth0", 1 },
		{ "gpu0=eth1;gpu1=eth1", "gpu0=eth1;gpu1=eth1", 2 },
	};
	struct tcpx_netmap_rules rules;
	char text[128];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check(cases[i].text, "code", tcpx_netmap_parse(cases[i].text, &rules), 0);
		check(cases[i].text, "count", rules.count, cases[i].count);
		check(cases[i].text, "length", tcpx_netmap_format(&rules, text, sizeof(text)),
		      strlen(cases[i].again));
		check_text(cases[i].text, text, cases[i].again);
		assert_int_equal(tcpx_netmap_format(&rules, text, 4), strlen(cases[i].again));
		assert_true(strlen(text) < 4);
	}
}

TEST(bad_maps_are_refused)
{
	static const struct {
		const char *text, *part, *says;
	} cases[] = {
		{ "eth1", "eth1", "gpuN=" },
		{ "gpu=eth1", "gpu=eth1", "gpuN=" },
		{ "gpu0", "gpu0", "gpuN=" },
		{ "GPU0=eth1", "GPU0=eth1", "gpuN=" },
		{ "gpu0:eth1", "gpu0:eth1", "gpuN=" },
		{ "gpu16=eth1", "gpu16=eth1", "GPUs 0 to 15" },
		{ "gpu00=eth1", "gpu00=eth1", "gpuN=" },
		{ "gpu99999999999=eth1", "gpu999", "gpuN=" },
		{ "gpu-1=eth1", "gpu-1", "gpuN=" },
		{ "gpu0=", "\"\"", "a NIC is missing" },
		{ "gpu0=;gpu1=eth1", "\";gpu1", "a NIC is missing" },
		{ "gpu0=eth1,", "\"\"", "a NIC is missing" },
		{ "gpu0=,eth1", "\",eth1", "a NIC is missing" },
		{ ";", "\";\"", "gpuN=" },
		{ "gpu0=eth1;;", "\";\"", "gpuN=" },
		{ " gpu0=eth1", "\" gpu0", "gpuN=" },
		{ "gpu0=eth1 ;gpu1=eth2", "\" ;gpu1", "not a character" },
		{ "gpu0=eth1=eth2", "\"=eth2", "not a character" },
		{ "gpu0=eth1;gpu0=eth2", "\"gpu0=eth2\"", "the GPU is there already" },
		{ "gpu0=eth1,eth1", "\"eth1\"", "the NIC is there already" },
		{ "gpu0=a2345678901234567890123456789012", "a2345", "too long" },
	};
	struct tcpx_netmap_rules rules = { .count = 77 };
	char last[512];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check(cases[i].text, "code", tcpx_netmap_parse(cases[i].text, &rules), TCPX_ECONFIG);
		tcpx_err_last(last, sizeof(last));
		check_has(last, cases[i].part);
		check_has(last, cases[i].says);
		assert_int_equal(rules.count, 77);
	}
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL);
	return run_cases(NULL, NULL);
}
