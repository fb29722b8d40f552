/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults to inject: TCPX_EMU_FAULT=NAME[:KEY=VALUE{,KEY=VALUE}]{;NAME...}. Keys: comm
 * (number of the send or receive comm in this process, from 0), req (of the comm, from 0),
 * byte (of the request), socket, n, ms, role (send, recv). A missing key means any; for n
 * and ms the table has a default. Each fault counts how often it happened.
 */
#ifndef EMU_FAULTS_H
#define EMU_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/bounds.h"

/* Who a fault may happen to. */
enum { EMU_OF_SENDS = 1 << EMU_SEND, EMU_OF_RECVS = 1 << EMU_RECV,
       EMU_OF_BOTH = EMU_OF_SENDS | EMU_OF_RECVS };

/* The keys that it takes; comm= and role= are everybody's. */
enum { EMU_KEY_NONE = 0, EMU_KEY_REQ = 1, EMU_KEY_BYTE = 2, EMU_KEY_SOCKET = 4, EMU_KEY_N = 8,
       EMU_KEY_MS = 16, EMU_KEY_PLACE = EMU_KEY_REQ | EMU_KEY_BYTE | EMU_KEY_SOCKET };

/* X(NAME, text, default of n, default of ms, least n, most n, the roles and keys that it has, what
 * it does) */
#define EMU_FAULTS(X) \
	X(SETUP_NULLS, "setup-nulls", 3, 0, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_N, \
	  "connect() and accept() give NULL n more times") \
	X(SETUP_DELAY, "setup-delay", 0, 200, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_MS, \
	  "a comm stands ms later") \
	X(CONNECT_REFUSED, "connect-refused", 1, 0, 1, INT32_MAX, EMU_OF_SENDS, EMU_KEY_N, \
	  "n attempts are refused, then one works") \
	X(CONNECT_ERROR, "connect-error", 2, 0, 1, 7, EMU_OF_SENDS, EMU_KEY_N, \
	  "connect() fails for good with code n") \
	X(ACCEPT_ERROR, "accept-error", 2, 0, 1, 7, EMU_OF_RECVS, EMU_KEY_N, \
	  "accept() fails for good with code n") \
	X(EARLY_COMM, "early-comm", 0, 200, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_MS, \
	  "a comm is given ms before it is connected") \
	X(RULES_EXHAUSTED, "rules-exhausted", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_NONE, \
	  "no flow rule is left: set-up fails") \
	X(NO_CMSG, "no-cmsg", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ | EMU_KEY_SOCKET, \
	  "data lands outside the pool: exit") \
	X(RULE_LATE, "rule-late", 0, 100, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_MS, \
	  "rules are active after ms; what came before: no cmsg") \
	X(WRONG_NIC, "wrong-nic", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_NONE, \
	  "as if the NIC were not the GPU's: no cmsg") \
	X(FRAG_SIZE, "frag-size", 1, 0, 1, EMU_PAGE, EMU_OF_RECVS, EMU_KEY_REQ | EMU_KEY_N, \
	  "fragments of n bytes, as long as they may be so many") \
	X(FRAG_ODD_EVEN, "frag-odd-even", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ, \
	  "fragments of odd and even lengths in turn") \
	X(FRAG_COUNT, "frag-count", 2047, 0, 1, 2049, EMU_OF_RECVS, EMU_KEY_REQ | EMU_KEY_N, \
	  "exactly n fragments") \
	X(FRAG_LARGE, "frag-large", 9000, 0, 2, 65536, EMU_OF_RECVS, EMU_KEY_REQ | EMU_KEY_N, \
	  "fragments of n bytes that begin anywhere in a page and go on in the next ones") \
	X(FRAG_ALIGN, "frag-align", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ, \
	  "all alignments of source and destination, 0 to 15") \
	X(SOCKET_DELAY, "socket-delay", 0, 100, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_REQ | EMU_KEY_SOCKET | EMU_KEY_MS, \
	  "a socket's data move ms later") \
	X(SOCKET_REVERSE, "socket-reverse", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ, \
	  "chunks are listed last to first") \
	X(INTERLEAVE, "interleave", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ, \
	  "fragments of all chunks are listed in turn") \
	X(TEST_LATE, "test-late", 5, 0, 1, INT32_MAX, EMU_OF_BOTH, EMU_KEY_REQ | EMU_KEY_N, \
	  "test() says not done n times too often") \
	X(ACK_DELAY, "ack-delay", 0, 40, 0, INT32_MAX, EMU_OF_SENDS, EMU_KEY_REQ | EMU_KEY_MS, \
	  "a send completes ms after its bytes have arrived") \
	X(CTRL_CLOSE, "ctrl-close", 0, 0, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_REQ | EMU_KEY_BYTE, \
	  "the control connection closes") \
	X(DATA_CLOSE, "data-close", 0, 0, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_PLACE, \
	  "a data connection closes: silence") \
	X(FALSE_DONE, "false-done", 0, 0, 0, INT32_MAX, EMU_OF_SENDS, EMU_KEY_PLACE, \
	  "a data connection closes, and its sends are done though nothing arrives") \
	X(KILL, "kill", 0, 0, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_PLACE, "the process is killed") \
	X(HALF_OPEN, "half-open", 0, 0, 0, INT32_MAX, EMU_OF_BOTH, EMU_KEY_PLACE, \
	  "nothing moves any more, nothing closes") \
	X(SIZE_LARGER, "size-larger", 1, 0, 1, INT32_MAX, EMU_OF_SENDS, EMU_KEY_REQ | EMU_KEY_N, \
	  "n bytes more are sent than were posted") \
	X(SIZE_SMALLER, "size-smaller", 1, 0, 1, INT32_MAX, EMU_OF_SENDS, EMU_KEY_REQ | EMU_KEY_N, \
	  "n bytes fewer are sent") \
	X(SIZE_ZERO, "size-zero", 0, 0, 0, INT32_MAX, EMU_OF_SENDS, EMU_KEY_REQ, \
	  "nothing is sent but the header") \
	X(FLIP_BYTE, "flip-byte", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_PLACE, \
	  "one bit of the byte is wrong") \
	X(SWAP_FRAGMENTS, "swap-fragments", 0, 0, 0, INT32_MAX, EMU_OF_RECVS, EMU_KEY_REQ, \
	  "two fragments have each other's place")

enum emu_fault_kind {
#define X(name, ...) EMU_FAULT_##name,
	EMU_FAULTS(X)
#undef X
	EMU_FAULT_KINDS
};

#define EMU_FAULTS_MAX 16
#define EMU_ANY	       (-1)

struct emu_fault {
	enum emu_fault_kind kind;
	int64_t comm, req, byte, socket, n, ms, role;
	_Atomic unsigned times; /* that it happened */
	char text[48];          /* as it was given  */
};

struct emu_faults {
	struct emu_fault fault[EMU_FAULTS_MAX];
	unsigned count;
};

/* Pure. false: @why has the mistake: a word that is none, a key or a role that the fault cannot have, a
 * number out of range. @sockets: of a comm. */
bool emu_faults_parse(const char *text, unsigned sockets, struct emu_faults *f, char *why,
		      unsigned cap);
/* The first fault of the kind for this comm and (unless EMU_ANY) request; or NULL. */
struct emu_fault *emu_fault_find(struct emu_faults *f, enum emu_fault_kind kind,
				 enum emu_role role, int64_t comm, int64_t req);
const char *emu_fault_name(enum emu_fault_kind kind);
/* It happens now. */
void emu_fault_fired(struct emu_fault *f);
/* The first from *@i on that never happened, and *@i behind it; NULL: none. */
const char *emu_faults_unfired(const struct emu_faults *f, unsigned *i);

#endif
