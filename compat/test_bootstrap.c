/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two processes come together: one listens, the other connects, they agree on the number
 * of channels (the smaller wish), and no data moves before both are ready.
 */
#include <string.h>

#include "pair.h"

static uint32_t
agreed(struct pair *p, const char *ours, const char *theirs)
{
	const char *server[] = { ours, NULL }, *client[] = { theirs, NULL };
	struct tcpx_peer_info here = { .struct_size = sizeof(here) };
	struct tcpx_peer_info there = { .struct_size = sizeof(there) };

	if (pair_open(p, server, client) || pair_meet(p))
		return 0;
	printf("[Bootstrap] Listening on port %u\n", tcpx_port(p->server));
	if (tcpx_peer_query(p->to_server, &here) || tcpx_peer_query(p->to_client, &there))
		return 0;
	printf("[Bootstrap] Server %s, client %s: %u handles sent, %u channels ready in %.1f ms\n",
	       ours, theirs, here.channels_wanted, here.channels_tx,
	       (double)here.setup_ns / 1e6);
	pair_check(p, here.channels_tx == there.channels_rx && here.channels_rx == there.channels_tx,
		   "both sides count the same channels");
	return here.channels_tx;
}

static void
a_note_goes(struct pair *p)
{
	tcpx_note *note;
	size_t len;

	if (!pair_check(p, !tcpx_notify(p->to_server, "ready", 5) &&
			   !tcpx_note_wait(p->server, 30000, &note), "ready is heard"))
		return;
	pair_check(p, !memcmp(tcpx_note_data(note, &len), "ready", 5) && len == 5 &&
		      !strcmp(tcpx_note_sender(note), "client"), "from the one who said it");
	tcpx_note_free(note);
}

static void
nobody_listens(struct pair *p)
{
	const char *settings[] = { "TCPX_CONNECT_MS=200", NULL };
	tcpx_peer *peer;
	int rc = pair_open(p, settings, settings);
	char where[64];

	if (rc)
		return;
	/* a port that was free a moment ago */
	snprintf(where, sizeof(where), "127.0.0.1:%u", tcpx_port(p->server));
	tcpx_close(p->server);
	p->server = NULL;
	rc = tcpx_peer_connect(p->client, where, &peer);
	if (!rc) {
		rc = tcpx_peer_wait(peer, 30000);
		tcpx_peer_free(peer);
	}
	pair_check(p, rc < 0, "a server that is not there: %s", tcpx_strerror_name(rc));
}

int
main(int argc, char **argv)
{
	struct pair p = { .tag = "Bootstrap" };
	int rc = pair_args(argc, argv, "Checks how two engines come together, within this process.\n");

	if (rc)
		return rc < 0 ? 0 : rc;
	pair_check(&p, agreed(&p, "TCPX_CHANNELS=4", "TCPX_CHANNELS=4") == 4, "4 and 4 make 4");
	if (!p.failed)
		a_note_goes(&p);
	pair_close(&p);
	pair_check(&p, agreed(&p, "TCPX_CHANNELS=2", "TCPX_CHANNELS=8") == 2, "2 and 8 make 2");
	pair_close(&p);
	pair_check(&p, agreed(&p, "TCPX_CHANNELS=8", "TCPX_CHANNELS=1") == 1, "8 and 1 make 1");
	pair_close(&p);
	nobody_listens(&p);
	return pair_end(&p);
}
