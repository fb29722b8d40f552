/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The property simulation. A world is a few engines on one scripted network, their memory
 * and their operations, all drawn from one seed. The properties that must hold on any
 * network, and beside babblers, are checked while it runs and at its end.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "fake/plain_seal.h"
#include "fake/slow_device.h"
#include "fabric/loop.h"
#include "seal/secret.h"
#include "tcpx/tcpx.h"

#define SIM_ENGINES   4 /* three at first, and one that starts again */
#define SIM_NICS      3
#define SIM_REGIONS   4 /* an engine's: two it sends from, two it receives into */
#define SIM_SRC_BYTES (160u << 10)
#define SIM_DST_BYTES (320u << 10)
#define SIM_XFERS     32
#define SIM_FIRST     24 /* of them, at first */
#define SIM_NOTES     16
#define SIM_PIECES    200
#define SIM_CUTS      6
#define SIM_BREAKS    4
#define SIM_SETTINGS  16
#define SIM_NAPS      6
#define SIM_GIVE_UPS  6
#define SIM_LANES     3
#define SIM_BABBLED   8 /* lanes of the first engine with babblers */
#define SIM_NOBODY    (-1) /* a babbler's end of a lane */
#define SIM_MESSAGES  100 /* of a lane */
#define SIM_WORK_NS   (20 * TCPX_MS)
#define SIM_NEVER     UINT64_MAX

/* A registered range. Source bytes never change while it is in use; every byte of a
 * destination belongs to at most one transfer. */
struct sim_region {
	bool dst;
	uint8_t *mem;
	uint8_t *orig;   /* what it held at first */
	uint8_t *frozen; /* what it must hold for ever; NULL while in use */
	uint32_t len, used;
	uint64_t id, imported[SIM_ENGINES];
};

struct sim_engine {
	tcpx_engine *engine;
	struct tcpx_nic nic[SIM_NICS];
	uint32_t nic_count;
	tcpx_peer *peer[SIM_ENGINES][2]; /* by its blob, by its address */
	uint32_t life[SIM_ENGINES][2];   /* so often added again        */
	struct sim_region region[SIM_REGIONS];
	struct tcpx_slow_device slow; /* host memory            */
	struct tcpx_slow_device gpu;  /* no ranges: it has none */
	int name;                     /* e0, e1, ...: its number, or its predecessor's */
	uint64_t incarnation;
	bool gpu_src, gpu_dst;        /* which regions it has   */
	bool lends;                   /* its memory is registered with TCPX_MEM_LEND */
	bool closed;
};

struct sim_piece {
	uint8_t region;
	uint32_t offset, len;
};

/* One side's list. */
struct sim_list {
	int engine;
	uint32_t count;
	uint64_t total;
	struct sim_piece piece[SIM_PIECES];
};

enum sim_kill { SIM_LIVE, SIM_CANCEL, SIM_FREE };

/* A handle: what an application holds of a transfer. */
struct sim_handle {
	tcpx_xfer *xfer; /* NULL: not posted, or given back */
	uint64_t post_ns, kill_ns;
	enum sim_kill kill;
	bool watched, watch_again;
	bool posted, killed, ended;
	int status;
	uint32_t told; /* events of its end */
};

/* A transfer from src to dst. Handle 0 is the initiator's, 1 a receive. */
struct sim_xfer {
	uint32_t number;
	enum tcpx_op op;
	struct sim_list src, dst; /* a receive's list may be longer than what is sent */
	uint64_t moved;           /* bytes that travel */
	uint64_t tag;
	struct sim_handle handle[2];
	bool own_src; /* nobody else sends these bytes */
	bool has_note;
	uint32_t note_len, notes_seen;
	uint8_t *frozen; /* destination bytes after a kill: they must stay */
};

/* A note of its own. */
struct sim_note {
	int from, to;
	uint32_t len;
	uint64_t post_ns;
	uint32_t life, turn; /* of its peer's handle; its place among all that were posted */
	int rc;
	bool posted;
	uint32_t seen;
};

/* A process gets no CPU. */
struct sim_nap {
	int engine;
	uint64_t from_ns, to_ns;
};

/* A message of a lane. Of each pair [0] is the sender's, [1] the receiver's. */
struct sim_message {
	uint32_t len, room, at[2];
	struct sim_handle handle[2];
};

/* One end of a lane, with memory of its own, apart for each message. */
struct sim_end {
	int engine;
	tcpx_lane *lane; /* NULL: not opened, or closed */
	uint64_t open_ns, close_ns, deregister_ns;
	uint8_t *mem;
	uint8_t *orig; /* the sender's: what it held at first; the receiver's: must hold */
	uint32_t bytes, posted;
	uint64_t region;
	bool opened, gone; /* gone: the memory is deregistered */
	bool over;         /* posts no more, and will close    */
	bool hasty;        /* closes when all has succeeded    */
	int status;        /* why                              */
};

struct sim_lane {
	uint8_t key[TCPX_LANE_KEY];
	bool stray; /* opened by another key */
	bool asked; /* it may fail           */
	bool left;  /* asked, and the sender's application may have ended it */
	struct sim_end end[2];
	uint32_t count, weight;
	struct sim_message message[SIM_MESSAGES];
};

struct sim_totals {
	uint64_t worlds, xfers, done, cancelled, failed, failed_unasked, notes, bytes;
	uint64_t resumes, channels_lost, healed, suspected, resent, virtual_ns;
	uint64_t lanes, messages, messages_done, credits;
	uint64_t flips, chunks_corrupt, frames_corrupt, naps, dials, restarts, given_up, added_again;
	struct {
		uint64_t sessions, resumes, refused, frames, lies;
	} babbled;
};

/* What the network does besides delaying. */
enum sim_weather {
	SIM_SOUND,
	SIM_SURVIVABLE, /* cuts and breaks, of all channels perhaps: they are opened again */
	SIM_WILD,       /* anything at any time: transfers may fail                    */
	SIM_BABBLE      /* sound; peers that say anything talk with the first engine   */
};

struct sim_world {
	uint64_t seed;
	struct tcpx_rng rng;
	bool verbose, failed;
	bool flips; /* bits arrive wrong */
	enum sim_weather weather;
	struct tcpx_fabric *fabric; /* NULL: sockets, threads and the time of day */
	const struct tcpx_clock *clock;
	uint64_t begun_ns, work_ns; /* for so long work is posted */
	const struct tcpx_net_ops *ops;
	struct babble *babble; /* NULL: all other weathers */
	struct tcpx_secret secret; /* of all engines; without ops there is none */
	uint32_t engine_count;
	struct sim_engine engine[SIM_ENGINES];
	uint32_t xfer_count, note_count, notes_posted;
	struct sim_xfer xfer[SIM_XFERS];
	struct sim_note note[SIM_NOTES];
	uint32_t early_bytes; /* such a send of a lane, of memory not lent, may end before it is there */
	uint32_t lane_count;
	struct sim_lane lane[SIM_LANES + SIM_BABBLED];
	/* once, at most: a region is deregistered; an engine closes */
	uint64_t deregister_ns, close_ns;
	int deregister_engine, deregister_region, close_engine;
	uint64_t cut_ns[SIM_CUTS], break_ns[SIM_BREAKS], nic_ns[2]; /* SIM_NEVER: done */
	struct sim_nap nap[SIM_NAPS];
	struct tcpx_rng meeting;
	bool dials;
	struct tcpx_rng again;
	bool adds_again;
	uint64_t give_up_ns[SIM_GIVE_UPS];
	uint64_t restart_ns; /* once, at most */
	int restart_engine;
	uint64_t calm_ns; /* no new faults from then on */
	uint32_t turn_cost, turn_pieces; /* what a turn handles at most; 0: as usual */
	uint64_t wide_bytes, narrow_ns;  /* where sessions begin narrow; 0: as usual */
	uint32_t turns;
	char setting[SIM_SETTINGS][48];
	const char *settings[SIM_SETTINGS + 1];
	struct sim_totals *totals;
};

static inline uint64_t
sim_now(const struct sim_world *w)
{
	return tcpx_clock_now(w->clock);
}

/* Does the network break or change what it carries? */
static inline bool
sim_is_broken(const struct sim_world *w)
{
	return w->weather == SIM_SURVIVABLE || w->weather == SIM_WILD;
}

/* A property does not hold: says so once a world. */
void sim_fail(struct sim_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True once in n. */
bool sim_one_in(struct sim_world *w, uint32_t n);
uint64_t sim_between(struct sim_world *w, uint64_t low, uint64_t high);

/* ---- plan.c: what will be done, drawn from the seed ---- */
void sim_plan_network(struct sim_world *w);
void sim_plan_settings(struct sim_world *w);
void sim_plan_work(struct sim_world *w);
/* Transfers from or to an engine that has come later. */
void sim_plan_more(struct sim_world *w, int engine);
void sim_setting(struct sim_world *w, const char *name, uint64_t value);

/* ---- faults.c: what happens to the network at its time ---- */
void sim_faults_do(struct sim_world *w);
uint64_t sim_faults_next_ns(const struct sim_world *w);

/* ---- meet.c: engines that meet, and meet again ---- */
void sim_plan_meeting(struct sim_world *w);
/* The engines from that one on, and all others. */
int sim_meet(struct sim_world *w, int first);
/* One of the handles of a peer. */
tcpx_peer *sim_peer(struct sim_world *w, int me, int other);
/* Returns true if an engine has or had that incarnation. */
bool sim_is_engine(const struct sim_world *w, uint64_t incarnation);
/* No two engines have two sessions. */
void sim_twins_look(struct sim_world *w);
/* At its time. */
void sim_restart(struct sim_world *w);

/* By its blob, or by an address. */
int sim_add(struct sim_world *w, int me, int other, bool dials);

/* ---- again.c: sessions that are given up, and peers that are added again ---- */
void sim_plan_again(struct sim_world *w);
void sim_again(struct sim_world *w);
uint64_t sim_again_next_ns(const struct sim_world *w);
/* Of a handle: another each time that it is added again. */
uint32_t sim_peer_life(const struct sim_world *w, int me, int other, const tcpx_peer *p);
void sim_again_judge(struct sim_world *w);

/* ---- naps.c: processes that get no CPU ---- */
void sim_plan_naps(struct sim_world *w);
void sim_naps_delay(struct sim_world *w);
bool sim_naps(const struct sim_world *w, int engine);
uint64_t sim_naps_next_ns(const struct sim_world *w);

/* ---- memory.c ---- */
int sim_memory_open(struct sim_world *w, int engine);
void sim_memory_close(struct sim_engine *e);
/* From now on no byte of it may change: overwrites it and remembers. */
void sim_memory_freeze(struct sim_region *r);
/* Every byte of a finished transfer is right, as far as its memory is in use. */
bool sim_memory_arrived(struct sim_world *w, const struct sim_xfer *x);
/* After a kill on the source's side: changes the source; on the destination's: changes
 * it and remembers. */
void sim_memory_scramble_src(struct sim_world *w, const struct sim_xfer *x);
void sim_memory_scramble_dst(struct sim_world *w, struct sim_xfer *x);
/* All of it, at the end. */
void sim_memory_check(struct sim_world *w);

/* ---- work.c: doing it ---- */
/* Whatever is due now. */
void sim_work_do(struct sim_world *w);
/* Looks at transfers and notes. */
void sim_work_look(struct sim_world *w);
bool sim_work_ended(const struct sim_world *w);
uint64_t sim_work_next_ns(const struct sim_world *w);
/* A SEND has two: its receive's, too. */
int sim_handle_count(const struct sim_xfer *x);
/* Have all notes come that must? */
bool sim_notes_came(const struct sim_world *w);
/* Counts and judges at the end; frees handles. */
void sim_work_judge(struct sim_world *w);
void sim_work_close_engine(struct sim_world *w, int engine);

/* ---- lanes_plan.c ---- */
void sim_lanes_plan(struct sim_world *w);
void sim_lanes_free(struct sim_world *w);

/* ---- lanes.c: as work.c, for lanes ---- */
void sim_lanes_do(struct sim_world *w);
/* Looks at an engine's messages. Returns how many have ended that are not watched. */
uint32_t sim_lanes_look(struct sim_world *w, int engine);
void sim_lanes_engine_closed(struct sim_world *w, int engine);
bool sim_lanes_ended(const struct sim_world *w);
uint64_t sim_lanes_next_ns(const struct sim_world *w);
/* Says which lane keeps the world from its end. */
void sim_lanes_hang(struct sim_world *w);
void sim_lanes_judge(struct sim_world *w);
void sim_lanes_check(struct sim_world *w);

/* ---- credit.c ---- */
void sim_credit_check(struct sim_world *w);

/* ---- host.c: the first engine beside babblers; nothing happens in other weathers ---- */
void sim_babble_plan(struct sim_world *w);
/* Begins the talk of all babblers. */
int sim_babblers_begin(struct sim_world *w);
/* The host's memory for them; they learn where it can be dialled. */
int sim_host_begin(struct sim_world *w);
/* Babblers talk; the host's application deals with them. */
void sim_host_do(struct sim_world *w);
void sim_babblers_leave(struct sim_world *w);
uint64_t sim_host_next_ns(const struct sim_world *w);
/* They have left, and nothing of them is left. */
bool sim_host_ended(struct sim_world *w);
void sim_host_hang(struct sim_world *w);
/* Ends deals that have ended. Returns how many. */
uint32_t sim_deals_look(struct sim_world *w, uint32_t engine);
/* Fails the world if an engine is accused. */
void sim_host_judges(struct sim_world *w);
/* Fails the world if a peer keeps more than it may. */
void sim_host_look(struct sim_world *w);
/* The only engine left keeps nothing more for anybody. False: not yet. */
bool sim_host_is_empty(struct sim_world *w);
/* An application that takes no notes leaves them until the end, when it takes all. */
bool sim_host_takes_notes(const struct sim_world *w, uint32_t engine);
void sim_host_takes_all(struct sim_world *w);
/* A handle of a babbler, which the caller gives back; NULL: it cannot be had now. */
tcpx_peer *sim_some_babbler(struct sim_world *w);
/* Babblers may know @l, whose receiving end is the host's. */
void sim_babblers_learn(struct sim_world *w, const struct sim_lane *l);
void sim_host_end(struct sim_world *w);
void sim_babble_print(const struct sim_totals *t);

/* ---- world.c ---- */
/* SIGALRM ends the process if @seed takes longer, and says so. */
void sim_watch(uint64_t seed, unsigned seconds);
/* NIC @n of place @place. */
void sim_nic(const struct sim_world *w, uint8_t n, uint8_t place, struct tcpx_nic *nic);
/* Draws what there is before engines: NICs, weather, faults. */
void sim_plan(struct sim_world *w);
/* Opens the engines, and draws their work. */
int sim_open(struct sim_world *w);
/* Judges, closes and frees all but the world itself. */
void sim_close(struct sim_world *w, bool opened);
/* Opens the engine of that number; as another one's successor under its name, or -1. */
int sim_open_engine(struct sim_world *w, int engine, int predecessor);
/* Runs one seed, @babble: in that weather. True when everything held. */
bool sim_world_run(uint64_t seed, bool babble, bool verbose, struct sim_totals *totals);

#endif
