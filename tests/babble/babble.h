/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stateful fuzzer. A world is a host, a guest whose transfers with it must all succeed, and a
 * few babblers: peers that follow the protocol as far as it takes them deep into a session, and
 * say anything there. They open sessions, and are opened to. In main.c network and time are the
 * scripted ones, so a seed repeats its world exactly; in live.c they are the machine's.
 */
#ifndef BABBLE_BABBLE_H
#define BABBLE_BABBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "core/session/line.h"
#include "fabric/loop.h"
#include "fake/plain_seal.h"
#include "fake/slow_device.h"
#include "proto/ctrl.h"
#include "proto/frame.h"
#include "proto/eager.h"
#include "proto/lane.h"
#include "proto/runs.h"
#include "seal/secret.h"
#include "tcpx/tcpx.h"

#define BABBLERS      3
#define BABBLE_CHANS  (2 * 4) /* of a session, both ways */
#define BABBLE_KNOWN  16      /* transfers that a babbler remembers, of each side */
#define BABBLE_XFERS  12      /* that the host has open with babblers */
#define BABBLE_MEMORY (256u << 10)
#define BABBLE_LANES  4       /* of the host at a time, with as many messages open each */
#define BABBLE_LANE_DEEP 4
#define BABBLE_NEVER  UINT64_MAX

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
	struct world *world;
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

struct babble_totals {
	uint64_t worlds, sessions, resumes, frames, lies, refused, transfers, bytes;
	uint64_t lanes, messages; /* of the host with babblers; the second: that succeeded */
};

/* What the host's application does with a babbler. */
struct deal {
	tcpx_xfer *xfer;
	uint64_t until_ns; /* cancelled then; BABBLE_NEVER: not */
};

/* A lane of the host's with a babbler. */
struct lane_deal {
	tcpx_lane *lane; /* NULL: none now */
	bool sends;
	tcpx_xfer *xfer[BABBLE_LANE_DEEP];
	uint32_t room[BABBLE_LANE_DEEP]; /* of the receive there; a send: 0 */
	uint64_t until_ns;
};

/* A transfer between guest and host, which must succeed. */
struct errand {
	enum tcpx_op op;
	bool by_host;      /* else by the guest */
	uint64_t post_ns;
	uint64_t offset, len;
	tcpx_xfer *xfer, *recv;
	bool posted, ended;
};

#define BABBLE_ERRANDS 10

/* What babblers know of their host; they may be in another process. */
struct told {
	struct tcpx_region_ref shared, guest; /* the second with a wrong key */
	uint16_t port;
	uint8_t lane[BABBLE_LANES][TCPX_LANE_KEY]; /* of the newest receiving end of each lane */
};

struct world {
	uint64_t seed;
	struct tcpx_rng rng;
	bool verbose, failed;
	struct tcpx_fabric *fabric;     /* NULL: sockets, and the time of day */
	const struct tcpx_clock *clock;
	uint64_t begun_ns;
	const struct tcpx_net_ops *ops;
	struct tcpx_secret secret;
	tcpx_engine *host, *guest;
	struct tcpx_nic host_nic, guest_nic;
	tcpx_peer *to_host, *to_guest;
	uint8_t *mem[2];                /* of the host, of the guest: for each other alone */
	uint64_t region[2], far_id[2];    /* far_id[i]: the name of mem[i] at the other */
	struct told *told, told_here;
	uint8_t *shared;                /* of the host: babblers have the key */
	uint64_t shared_id;
	struct deal deal[BABBLE_XFERS];
	bool lanes;                     /* this world has some */
	bool narrow;                    /* its sessions may begin narrow, if a babbler says so */
	struct lane_deal lane[BABBLE_LANES];
	uint8_t *lane_mem;              /* of the host */
	uint64_t lane_region;
	const struct tcpx_device_ops *gpu_ops; /* the host's, whose that memory is; NULL: none */
	struct tcpx_slow_device gpu;
	struct errand errand[BABBLE_ERRANDS];
	struct babbler babbler[BABBLERS];
	uint32_t babblers;
	uint64_t talk_ns;               /* for so long they talk */
	uint64_t patient_ns;            /* no transfer of the guest takes longer */
	bool gone;                      /* they have left */
	bool notes_taken;               /* by the host's application */
	char setting[9][48];
	const char *settings[11];
	struct babble_totals *totals;
};

/* Runs one seed. True when everything held. */
bool babble_world(uint64_t seed, bool verbose, struct babble_totals *totals);

/* ---- plan.c ---- */
/* The process ends if @seed takes longer. */
void babble_watch(uint64_t seed, unsigned seconds);
/* A property does not hold: says so once a world. */
void babble_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool babble_one_in(struct world *w, uint32_t n);
uint64_t babble_between(struct world *w, uint64_t low, uint64_t high);
/* Who talks, for how long, and the engines' settings. */
void babble_plan(struct world *w);
void babble_nic(const struct world *w, uint8_t place, struct tcpx_nic *nic);
/* Host, guest, and what they do. */
int babble_open_engines(struct world *w);
/* Nobody keeps more than he may. */
void babble_check_quotas(struct world *w);

/* ---- host.c: what the applications of host and guest do ---- */
int babble_host_begin(struct world *w);
void babble_host_do(struct world *w);
uint64_t babble_host_next_ns(const struct world *w);
/* All transfers with babblers have ended, those of the guest too. */
bool babble_host_ended(const struct world *w);
void babble_host_end(struct world *w);
/* A handle, which the caller gives back; NULL: it cannot be had now. */
tcpx_peer *babble_some_babbler(struct world *w);

/* ---- lanes.c: those of the host, and a babbler's words about them ---- */
int babble_lanes_begin(struct world *w);
void babble_lanes_do(struct world *w);
uint64_t babble_lanes_next_ns(const struct world *w);
void babble_lanes_end(struct world *w);
void babbler_say_lane(struct babbler *b);
void babbler_hear_lane(struct babbler *b, uint8_t type, struct tcpx_buf *payload);

/* ---- peer.c: a babbler's connection ---- */
int babbler_begin(struct world *w, int number);
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
