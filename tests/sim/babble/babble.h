/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Babblers: peers that follow the protocol as far as it takes them deep into a session, and say
 * anything there. They open sessions with the first engine of a world, the host, and are opened to.
 * Over the scripted network a seed repeats its world exactly; in live.c network and time are the
 * machine's, and babblers another process.
 */
#ifndef SIM_BABBLE_BABBLE_H
#define SIM_BABBLE_BABBLE_H

#include "core/session/line.h"
#include "proto/ctrl.h"
#include "proto/eager.h"
#include "proto/frame.h"
#include "proto/lane.h"
#include "proto/runs.h"
#include "sim/sim.h"

#define BABBLERS      3
#define BABBLE_CHANS  (2 * 4) /* of a session, both ways */
#define BABBLE_KNOWN  16      /* transfers that a babbler remembers, of each side */
#define BABBLE_XFERS  12      /* that the host has open with babblers */
#define BABBLE_MEMORY (256u << 10)
#define BABBLE_LANES  4       /* keys of the host's that they know */

enum stage {
	STAGE_IDLE,    /* no connection                                             */
	STAGE_START,   /* acceptor: START is awaited                                */
	STAGE_HELLO,   /* the host's HELLO is awaited, or its RESUME or RESUMED      */
	STAGE_HANDLES, /* opener: the host's HANDLES are awaited                    */
	STAGE_WIRING,  /* channels connect; READY is awaited                        */
	STAGE_OPEN
};

/* A transfer as a babbler knows it. */
struct known {
	uint64_t id, total;
	uint8_t op;
	uint32_t chunk;
	uint32_t next;           /* the first chunk that was not sent */
};

/* A lane as a babbler knows it. */
struct known_lane {
	uint64_t word;
	bool host_sends;
	uint64_t announced, sent;
	uint64_t len[TCPX_LANE_SLOTS]; /* of the host's receives */
};

/* A list that is being said. */
struct listing {
	struct tcpx_runs_writer runs;
	uint32_t entries; /* still to be said, and their bytes */
	uint64_t bytes, offset;
	bool whole;
};

struct babble_chan {
	struct tcpx_chan_id id;
	bool forward, usable, tried;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *listener;
	void *connecting;
	struct tcpx_chan *chan;
	uint64_t seq;       /* sending: of the last message; receiving: of those whole */
	uint64_t acked;
	uint32_t left;      /* receiving: bytes of the payload that is on its way */
	bool inside;
};

struct babbler {
	struct sim_world *world;
	int number;
	struct tcpx_net *net;
	struct tcpx_net_facts facts;
	struct tcpx_nic nic;
	struct tcpx_stream *listener;
	struct tcpx_addr bound;
	enum stage stage;
	bool opener;             /* of the present session */
	bool resuming, resumed_lie;
	bool reads;              /* else it never takes what is sent to it */
	uint32_t lies_ppm;       /* of the fields and frames that it says */
	uint64_t next_ns;        /* the next sentence */
	uint64_t pause_ns;       /* between two, on average */
	struct line line;
	struct tcpx_start start; /* of the host, where it opens */
	uint8_t first[64];
	size_t first_len;
	struct tcpx_ctrl *ctrl;
	bool begun;              /* the stream: a session, or what is left of one */
	uint64_t session, incarnation;
	uint32_t epoch;
	struct tcpx_hello theirs;
	struct tcpx_handles handles;
	uint8_t token[16], seed[16];
	struct tcpx_seal_psk resume_key;
	bool handles_came, ready_sent;
	uint32_t wish, count;    /* channels each way; the first is what its HELLO says */
	bool sums, narrow, wide; /* wide: as it said last */
	struct babble_chan chan[BABBLE_CHANS];
	uint64_t opened;         /* number of its newest transfer */
	uint64_t listing;        /* its transfer whose list is not complete; 0: none */
	struct listing list;
	uint32_t chunk_max;      /* as its HELLO says */
	struct known mine[BABBLE_KNOWN], hosts[BABBLE_KNOWN];
	uint32_t mine_count, hosts_count;
	struct known_lane lane[BABBLE_KNOWN];
	uint32_t lane_count, lanes_opened;
	struct tcpx_eager_tx credit; /* for messages before their receives */
	uint64_t granted;            /* ... of the host, of which it uses less */
	uint64_t said;
};

/* What the host's application does with a babbler. */
struct deal {
	tcpx_xfer *xfer;
	uint64_t until_ns; /* cancelled then; SIM_NEVER: not */
};

/* What babblers know of their host; they may be in another process. */
struct told {
	struct tcpx_region_ref shared, others; /* the second with a wrong key */
	uint16_t port;
	uint8_t lane[BABBLE_LANES][TCPX_LANE_KEY]; /* of receiving ends */
};

struct babble {
	struct told *told, told_here;
	uint8_t *shared; /* of the host: babblers have the key */
	uint64_t shared_id;
	struct deal deal[BABBLE_XFERS];
	struct babbler babbler[BABBLERS];
	uint32_t babblers;
	uint64_t left_ns;
	bool lanes;       /* this world has some */
	bool gone;        /* they have left */
	bool takes_notes; /* the host's application */
};

/* ---- lanes.c: words about lanes ---- */
void babbler_say_lane(struct babbler *b);
void babbler_hear_lane(struct babbler *b, uint8_t type, struct tcpx_buf *payload);

/* ---- peer.c: a babbler's connection ---- */
/* Returns the address that @b dials. */
struct tcpx_addr babbler_host(const struct babbler *b);
int babbler_begin(struct sim_world *w, int number);
/* Takes what has come, and says what is due. */
void babbler_do(struct babbler *b);
void babbler_hang_up(struct babbler *b); /* keeps the session, to resume it perhaps */
void babbler_end(struct babbler *b);
void babbler_dial(struct babbler *b, bool resume);

/* ---- meet.c: the words of the handshake ---- */
void babbler_say_hello(struct babbler *b);
void babbler_say_resume(struct babbler *b, uint8_t type);
/* A frame of the handshake. False: hang up. */
bool babbler_meet(struct babbler *b, uint8_t type, struct tcpx_buf *payload);
/* Channels connect further; READY when they have. */
void babbler_wire(struct babbler *b);

/* A channel is opened again: where it connects to; that its other end asks to. */
void babbler_take_handle(struct babbler *b, struct tcpx_buf *payload);
void babbler_listen_again(struct babbler *b, struct tcpx_buf *payload);

/* ---- words.c: those of an open session ---- */
void babbler_talk(struct babbler *b);
void babbler_hear(struct babbler *b, uint8_t type, struct tcpx_buf *payload);

/* ---- wire_fabric.c, wire_sock.c: a network's bytes ---- */
void babble_wire_ack(struct tcpx_chan *c, const struct tcpx_ack *a, bool summed);
/* @len of the payload, whatever the header says. */
void babble_wire_message(struct tcpx_chan *c, const struct tcpx_head *h, const void *payload, uint32_t len,
			 bool abandoned);
/* The next message of a comm channel; 0: it has no room. */
uint64_t babble_wire_slot(const struct tcpx_chan *c);

/* ---- data.c ---- */
void babbler_data_read(struct babbler *b);
/* Sends a chunk of one of its transfers, or anything. */
void babbler_data_say(struct babbler *b);
/* The same of a lane's message. */
void babbler_data_lane(struct babbler *b, uint64_t id, uint32_t chunk, uint32_t len);
/* With its listener, or its attempt to connect; the next generation may begin. */
void babbler_close_chan(struct babbler *b, struct babble_chan *c);
void babbler_data_end(struct babbler *b);

/* ---- lies.c ---- */
bool babbler_lies(struct babbler *b);
/* Over sockets alone: the seeds of worlds stay as they were. */
bool babbler_lies_more(struct babbler *b);
/* The truth, or now and then a value at some edge. */
uint64_t babbler_tell(struct babbler *b, uint64_t truth);
/* Puts a frame that was written to @b, whole or damaged. */
void babbler_put(struct babbler *b, uint8_t type, const struct tcpx_buf *payload, bool bulk);

#endif
