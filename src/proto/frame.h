/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the control stream: their bytes and nothing else. Every frame is
 *
 *	u32 length of all of it (20 .. tcpx_frame_most(type))   u8 type   u8 flags   u16 zero
 *	u64 number (0: not numbered)   u32 check: low half of number xor length xor type,
 *	then the payload
 *
 * Parsing checks every length, enum and count; what a parser accepts its formatter can
 * write. docs/protocol.md says when a frame is sent and what it means.
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/lane.h"
#include "proto/netmap.h"
#include "proto/pair.h"
#include "tcpx/tcpx.h"

#define TCPX_PROTO_VERSION 7
#define TCPX_FRAME_MAX     16384u /* but for LANE_DATA: see tcpx_frame_most() */
#define TCPX_FRAME_HEAD    20u
#define TCPX_NICS_MAX      32
#define TCPX_CHANNELS_MAX  64  /* each way */
#define TCPX_TEXT_MAX      160
#define TCPX_HANDLE_MAX    128
#define TCPX_TERMS_MAX     128 /* bytes with the NUL */

enum tcpx_frame_type {
	/* of one connection: never numbered */
	TCPX_FR_HELLO = 1, /* each side introduces itself: a new session           */
	TCPX_FR_START,     /* the opener's first frame on every connection, in clear */
	TCPX_FR_RESUME,    /* in place of HELLO: resumes a session                 */
	TCPX_FR_RESUMED,   /* the answer to RESUME                                 */
	TCPX_FR_REFUSE,    /* code and text; the connection ends                   */
	TCPX_FR_ACK,       /* cumulative: numbers up to here received              */
	TCPX_FR_PING,
	TCPX_FR_PONG,
	/* of the session: numbered, repeated after a resume */
	TCPX_FR_HANDLES = 32, /* where the channels connect to                     */
	TCPX_FR_READY,     /* which channels stand                                 */
	TCPX_FR_OPEN,      /* a transfer begins                                    */
	TCPX_FR_LIST,      /* more of its descriptor list                          */
	TCPX_FR_MATCHED,   /* a receive has been found for a SEND                  */
	TCPX_FR_DONE,      /* the target has completed or failed a transfer        */
	TCPX_FR_CANCEL,
	TCPX_FR_NOTE,
	TCPX_FR_CHANNEL_DOWN, /* the sender has lost a channel                     */
	TCPX_FR_FENCED,    /* the receiver has closed it                           */
	TCPX_FR_CHANNEL_ACK, /* for channels that carry no acknowledgements        */
	TCPX_FR_MESSAGE,     /* for channels whose messages carry no header        */
	TCPX_FR_BYE,       /* the session ends                                     */
	TCPX_FR_CHANNEL_ASK, /* opens a channel again: listen for this generation  */
	TCPX_FR_CHANNEL_HANDLE, /* the answer: where it connects to, or that it cannot */
	TCPX_FR_WIDTH,     /* all channels on which its sender sends, or the first of each pair of NICs */
	TCPX_FR_NOTED = 48, /* so many notes more have been taken over             */
	TCPX_FR_LANE_OPEN = 64, /* a lane from the sender of this frame            */
	TCPX_FR_LANE_POST, /* the answer; receives that are announced              */
	TCPX_FR_LANE_FAIL, /* either end: it takes part in nothing more            */
	TCPX_FR_LANE_CLOSE, /* its sender sends nothing more                       */
	TCPX_FR_LANE_DATA, /* a whole message                                      */
	TCPX_FR_LANE_GRANT, /* of byte credit                                      */
	TCPX_FR_LANE_DONE  /* messages that the receiver has                       */
};

struct tcpx_frame_head {
	uint32_t len; /* of the whole frame */
	uint8_t type, flags;
	uint64_t number;
};

static inline bool
tcpx_frame_numbered(uint8_t type)
{
	return type >= TCPX_FR_HANDLES;
}
/* "OPEN"; static; "?" for unknown. */
const char *tcpx_frame_name(uint8_t type);

/* Writes the head of a frame whose payload is len bytes, at dst (TCPX_FRAME_HEAD). */
void tcpx_frame_head_write(uint8_t *dst, uint8_t type, uint64_t number, uint32_t payload_len);
/* Reads one. 0; -EAGAIN: fewer than TCPX_FRAME_HEAD bytes; TCPX_EPROTO: not a frame. */
int tcpx_frame_head_read(const uint8_t *src, size_t have, struct tcpx_frame_head *out);
/* One that this side wrote: nothing is checked. */
struct tcpx_frame_head tcpx_frame_head_own(const uint8_t *src);

struct tcpx_hello_nic {
	struct tcpx_addr addr; /* port: of its control listener; 0 none */
	struct tcpx_netmap_offer offer; /* beside the name only for plugins; a blob has no rank */
};

/* What a connection is for. */
enum tcpx_start_kind {
	TCPX_START_NEW = 1, /* HELLO follows                                        */
	TCPX_START_RESUME,  /* RESUME follows, under the session's own key          */
	TCPX_START_ASK      /* RESUME follows, under the secret: is the session known? */
};

/* START. Bytes behind these fields are left to later versions. */
struct tcpx_start {
	uint16_t version_min, version_max;
	bool sealed;          /* TLS follows                                        */
	uint8_t kind;         /* enum tcpx_start_kind                               */
	uint64_t session;     /* RESUME: which                                      */
};

enum tcpx_role { TCPX_ROLE_OPENER = 1, TCPX_ROLE_ACCEPTOR = 2 };

struct tcpx_hello {
	uint64_t session;     /* chosen by the opener; the acceptor repeats it      */
	uint8_t role;         /* enum tcpx_role, of the sender                      */
	uint64_t incarnation;
	uint64_t expect;      /* incarnation of the peer that is meant; 0: any      */
	char expect_name[TCPX_NAME_MAX]; /* ... its name; "": any                   */
	struct tcpx_addr dialled; /* opener: the address that it connected to       */
	uint64_t host;        /* of boot id and network namespace; 0: unknown       */
	char name[TCPX_NAME_MAX];
	char provider[16];
	uint16_t channels;    /* each way: wanted by the opener, granted by the acceptor */
	uint16_t window;
	uint32_t chunk_max;   /* bytes                                              */
	uint32_t credit_xfers;      /* granted by the sender of this frame          */
	uint64_t credit_list_bytes;
	uint16_t nic_count;
	struct tcpx_hello_nic nic[TCPX_NICS_MAX];
	char terms[TCPX_TERMS_MAX]; /* the provider's; both sides must have the same */
	bool sums;            /* wants payload and frames to be summed              */
	bool narrow;          /* would begin narrow, with the first channels alone  */
};

struct tcpx_resume {
	uint64_t session, incarnation; /* incarnation: of the frame's sender        */
	uint64_t expect;               /* incarnation of the peer that is meant     */
	struct tcpx_addr dialled;      /* opener: the address that it connected to  */
	uint32_t epoch;                /* rises with each resume                    */
	uint64_t received;             /* highest number received                   */
	uint8_t token[16];             /* of the session, from HANDLES              */
};

/* Zeros at the end of a handle are not sent. Of handles without any, 2 * 62 fit a frame. */
struct tcpx_handles {
	uint8_t token[16];   /* of the session, for RESUME                          */
	uint8_t seed[16];    /* of its channels' tokens, where there is no secret   */
	uint16_t count;      /* forward channels first, then as many backward       */
	uint8_t handle[2 * TCPX_CHANNELS_MAX][TCPX_HANDLE_MAX];
	uint16_t far_nic[2 * TCPX_CHANNELS_MAX]; /* acceptor's NIC index            */
	bool usable[2 * TCPX_CHANNELS_MAX];      /* false: the acceptor could not listen */
};

struct tcpx_readiness {
	uint64_t forward_up, backward_up; /* bit k: channel k stands               */
};

enum tcpx_wire_op { TCPX_WIRE_WRITE = 1, TCPX_WIRE_READ = 2, TCPX_WIRE_SEND = 3 };
enum tcpx_open_flags {
	TCPX_OPEN_INLINE = 1, /* the payload is in this frame                       */
	TCPX_OPEN_NOTE = 2,   /* a note is in this frame                            */
	TCPX_OPEN_MORE = 4    /* LIST frames follow                                 */
};

/* OPEN. The frame has fixed fields, then note, list operations (proto/runs.h) and inline
 * payload. note, list and payload point into the frame. */
struct tcpx_open {
	uint64_t id;
	uint8_t op, flags;
	uint64_t total;
	uint32_t chunk;
	uint64_t tag;          /* SEND */
	uint32_t entry_count;  /* of the whole list; 0 for SEND */
	const uint8_t *note;
	uint16_t note_len;
	const uint8_t *list;
	uint16_t list_len;
	const uint8_t *payload; /* total bytes when INLINE */
};

struct tcpx_listframe {
	uint64_t id;
	bool more;
	const uint8_t *list;
	uint16_t list_len;
};

struct tcpx_done {
	uint64_t id;
	int32_t code;            /* 0 or negative                                   */
	uint64_t bytes;
	char text[TCPX_TEXT_MAX];
	const uint8_t *payload;  /* answer of a small READ, else NULL               */
	uint16_t payload_len;
};

struct tcpx_chan_event {
	uint8_t backward;        /* 0: opener sends on it                           */
	uint16_t channel, generation;
	uint64_t seq;            /* FENCED: last message taken over; ACK: received;
				  * CHANNEL_DOWN: 1: for silence; more: for packets
				  * larger than that, which do not pass             */
	uint64_t applied;        /* ACK                                             */
	char text[TCPX_TEXT_MAX];/* CHANNEL_DOWN: why                               */
};

/* Where a channel's new generation connects to. */
struct tcpx_chan_handle {
	uint8_t backward;        /* 0: opener sends on it                           */
	uint16_t channel, generation;
	bool usable;             /* else its side cannot listen now                 */
	uint8_t token[16];       /* of this generation                              */
	uint8_t handle[TCPX_HANDLE_MAX];
};

#define TCPX_LANE_KEY_BYTES 16

/* Lanes are named by their word without a message (proto/lane.h). */
struct tcpx_lane_opening {
	uint64_t lane;
	uint8_t key[TCPX_LANE_KEY_BYTES]; /* of the receiver that is meant         */
};

struct tcpx_lane_posts {
	uint64_t lane;
	uint64_t first;          /* number of the first receive                     */
	uint16_t count;          /* 0: the answer to LANE_OPEN                      */
	uint64_t len[TCPX_LANE_SLOTS];
};

struct tcpx_lane_failure {
	uint64_t lane;
	bool sending;            /* by the end that sends                           */
	int32_t code;            /* negative                                        */
	char text[TCPX_TEXT_MAX];
};

/* The finished messages of a receiver's ring. */
struct tcpx_lane_progress {
	uint64_t lane;
	uint64_t done, finished; /* as in struct tcpx_lane_ring                     */
};

#define TCPX_LANE_DATA_HEAD 13u /* before the payload */
#define TCPX_LANE_DATA_MAX  (128u << 10)

/* payload points into the frame. */
struct tcpx_lane_data {
	uint64_t message;        /* lane and number                                 */
	bool known;              /* its receive has been announced: no credit is used */
	const uint8_t *payload;
	uint32_t len;
};

/* Bytes of the longest frame of a type, with its head. */
static inline uint32_t
tcpx_frame_most(uint8_t type)
{
	return type == TCPX_FR_LANE_DATA ? TCPX_FRAME_HEAD + TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX :
					   TCPX_FRAME_MAX;
}

/* The header of a message on a channel that carries bare payload. */
struct tcpx_message {
	uint8_t backward;        /* 0: opener sends on it                           */
	uint16_t channel, generation;
	uint64_t seq;            /* from 1                                          */
	uint64_t xfer;           /* 0: none; the receiver drops the message         */
	uint32_t chunk, len;
	bool summed;             /* sum is there                                    */
	uint32_t sum;            /* CRC32C of the payload                           */
};

/* The first control character of an engine's name, which no parser takes, as it could garble a log; NULL: none. */
const char *tcpx_name_control(const char *name);

/* Formatters append the payload (without the head) to b; b goes bad if it does not
 * fit. Parsers read the payload: 0 or TCPX_EPROTO. They do not log, since the
 * caller knows more. */
void tcpx_start_write(struct tcpx_buf *b, const struct tcpx_start *s);
int tcpx_start_read(struct tcpx_buf *b, struct tcpx_start *s);
void tcpx_hello_write(struct tcpx_buf *b, const struct tcpx_hello *h);
int tcpx_hello_read(struct tcpx_buf *b, struct tcpx_hello *h);
void tcpx_resume_write(struct tcpx_buf *b, const struct tcpx_resume *r);
int tcpx_resume_read(struct tcpx_buf *b, struct tcpx_resume *r);
void tcpx_handles_write(struct tcpx_buf *b, const struct tcpx_handles *h);
int tcpx_handles_read(struct tcpx_buf *b, struct tcpx_handles *h);
void tcpx_ready_write(struct tcpx_buf *b, const struct tcpx_readiness *r);
int tcpx_ready_read(struct tcpx_buf *b, struct tcpx_readiness *r);
/* Writes the fixed part and, with TCPX_OPEN_NOTE, the note. The caller then appends list
 * operations. open_finish() adds flags, patches the list length and appends the payload. b
 * must start at the payload's first byte. */
void tcpx_open_write(struct tcpx_buf *b, const struct tcpx_open *o);
void tcpx_open_finish(struct tcpx_buf *b, uint8_t flags, const void *payload, uint16_t payload_len);
int tcpx_open_read(struct tcpx_buf *b, struct tcpx_open *o);
void tcpx_listframe_write(struct tcpx_buf *b, uint64_t id); /* then operations, then: */
void tcpx_listframe_finish(struct tcpx_buf *b, bool more);
int tcpx_listframe_read(struct tcpx_buf *b, struct tcpx_listframe *l);
void tcpx_done_write(struct tcpx_buf *b, const struct tcpx_done *d);
int tcpx_done_read(struct tcpx_buf *b, struct tcpx_done *d);
void tcpx_chan_event_write(struct tcpx_buf *b, const struct tcpx_chan_event *e);
int tcpx_chan_event_read(struct tcpx_buf *b, struct tcpx_chan_event *e);
void tcpx_chan_handle_write(struct tcpx_buf *b, const struct tcpx_chan_handle *h);
int tcpx_chan_handle_read(struct tcpx_buf *b, struct tcpx_chan_handle *h);
void tcpx_message_write(struct tcpx_buf *b, const struct tcpx_message *m);
int tcpx_message_read(struct tcpx_buf *b, struct tcpx_message *m);
void tcpx_lane_opening_write(struct tcpx_buf *b, const struct tcpx_lane_opening *o);
int tcpx_lane_opening_read(struct tcpx_buf *b, struct tcpx_lane_opening *o);
void tcpx_lane_posts_write(struct tcpx_buf *b, const struct tcpx_lane_posts *p);
int tcpx_lane_posts_read(struct tcpx_buf *b, struct tcpx_lane_posts *p);
void tcpx_lane_failure_write(struct tcpx_buf *b, const struct tcpx_lane_failure *f);
int tcpx_lane_failure_read(struct tcpx_buf *b, struct tcpx_lane_failure *f);
void tcpx_lane_progress_write(struct tcpx_buf *b, const struct tcpx_lane_progress *p);
int tcpx_lane_progress_read(struct tcpx_buf *b, struct tcpx_lane_progress *p);
/* A payload of NULL is appended by the caller. */
void tcpx_lane_data_write(struct tcpx_buf *b, const struct tcpx_lane_data *d);
int tcpx_lane_data_read(struct tcpx_buf *b, struct tcpx_lane_data *d);
/* ACK, CANCEL, MATCHED, NOTED, LANE_CLOSE, LANE_GRANT carry one u64; NOTE is bytes; PING,
 * PONG nothing; BYE is code and text. So is REFUSE, with the wait before the opener may
 * come again, if there is one. */
void tcpx_refuse_write(struct tcpx_buf *b, int32_t code, const char *text, uint32_t wait_ms);
/* @wait_ms: 0: none. NULL: a wait is an error. */
int tcpx_refuse_read(struct tcpx_buf *b, int32_t *code, char text[TCPX_TEXT_MAX], uint32_t *wait_ms);

#endif
