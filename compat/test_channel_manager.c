/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels and NICs: channels are spread evenly over the NICs, more channels than NICs share
 * them, and a NIC near the GPU scores higher than one behind another root.
 */
#include <string.h>

#include "pair.h"
#include "place.h"

enum { NICS = 3 };
#define NIC_LIST "TCPX_NICS=127.0.0.1,127.0.0.2,127.0.0.3"

static void
scores(struct pair *p)
{
	static const char gpu[] = "/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0";
	static const struct {
		const char *nic;
		int score;
	} cases[] = {
		{ "/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0", 298 },
		{ "/pci0000:00/0000:00:01.0/0000:01:01.0/0000:03:00.0", 196 },
		{ "/pci0000:00/0000:00:05.0/virtio1", 95 },
		{ "/pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0", -8 },
		{ "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int score = path_score(gpu, cases[i].nic);

		printf("[ChannelManager] %s -> score=%d\n", *cases[i].nic ? cases[i].nic : "(none)",
		       score);
		pair_check(p, score == cases[i].score, "score %d", cases[i].score);
	}
}

/* How many of the client's sending channels are on each NIC. */
static void
spread(struct pair *p, const char *channels, unsigned want)
{
	const char *settings[] = { NIC_LIST, channels, NULL };
	struct tcpx_channel_info c[64];
	unsigned on[NICS] = { 0 }, total = 0, most = 0, least = 64;
	size_t count = 64;

	if (pair_open(p, settings, settings) || pair_meet(p))
		return;
	if (tcpx_query_channels(p->client, c, sizeof(c[0]), &count))
		count = 0;
	for (size_t i = 0; i < count && i < 64; i++) {
		size_t len = strlen(c[i].nic);

		if (!c[i].sending || !c[i].up || !len)
			continue;
		printf("[ChannelManager] Channel %u -> netDev %d (%s)\n", c[i].index, c[i].nic[len - 1] - '1',
		       c[i].nic);
		total++;
		on[(unsigned)(c[i].nic[len - 1] - '1') % NICS]++;
	}
	for (int i = 0; i < NICS; i++) {
		most = on[i] > most ? on[i] : most;
		least = on[i] < least ? on[i] : least;
	}
	pair_check(p, total == want, "%s: %u channels", channels, total);
	pair_check(p, most - least <= 1, "on 3 NICs: %u, %u, %u", on[0], on[1], on[2]);
	pair_close(p);
}

int
main(int argc, char **argv)
{
	struct pair p = { .tag = "ChannelManager" };
	int rc = pair_args(argc, argv, "Checks how channels are spread over NICs (127.0.0.1 to"
				       " 127.0.0.3), within this process.\n");

	if (rc)
		return rc < 0 ? 0 : rc;
	scores(&p);
	spread(&p, "TCPX_CHANNELS=3", 3);
	spread(&p, "TCPX_CHANNELS=8", 8);
	spread(&p, "TCPX_CHANNELS=2/nic", 6);
	return pair_end(&p);
}
