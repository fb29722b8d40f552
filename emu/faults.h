/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults to inject: TCPX_EMU_FAULT=NAME[:KEY=VALUE{,KEY=VALUE}]{;NAME...}. Keys: comm
 * (number of the send or receive comm in this process, from 0), req (of the comm, from 0),
 * byte (of the request), socket, n, ms, role (send, recv). A missing key means any; for n
 * and ms the table has a default.
 */
#ifndef EMU_FAULTS_H
#define EMU_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/bounds.h"

/* X(NAME, text, default of n, default of ms, what it does) */
#define EMU_FAULTS(X)                                                                         \
	X(SETUP_NULLS, "setup-nulls", 3, 0, "connect() and accept() give NULL n more times")  \
	X(SETUP_DELAY, "setup-delay", 0, 200, "a comm stands ms later")                       \
	X(CONNECT_REFUSED, "connect-refused", 1, 0, "n attempts are refused, then one works") \
	X(CONNECT_ERROR, "connect-error", 2, 0, "connect() fails for good with code n")       \
	X(ACCEPT_ERROR, "accept-error", 2, 0, "accept() fails for good with code n")          \
	X(EARLY_COMM, "early-comm", 0, 200, "a comm is given ms before it is connected")      \
	X(RULES_EXHAUSTED, "rules-exhausted", 0, 0, "no flow rule is left: set-up fails")     \
	X(NO_CMSG, "no-cmsg", 0, 0, "data lands outside the pool: exit")                      \
	X(RULE_LATE, "rule-late", 0, 100, "rules are active after ms; what came before: no cmsg") \
	X(WRONG_NIC, "wrong-nic", 0, 0, "as if the NIC were not the GPU's: no cmsg")          \
	X(FRAG_SIZE, "frag-size", 1, 0, "fragments of n bytes, as long as they may be so many") \
	X(FRAG_ODD_EVEN, "frag-odd-even", 0, 0, "fragments of odd and even lengths in turn")  \
	X(FRAG_COUNT, "frag-count", 2047, 0, "exactly n fragments")                           \
	X(FRAG_ALIGN, "frag-align", 0, 0, "all alignments of source and destination, 0 to 15") \
	X(SOCKET_DELAY, "socket-delay", 0, 100, "a socket's data move ms later")              \
	X(SOCKET_REVERSE, "socket-reverse", 0, 0, "chunks are listed last to first")          \
	X(INTERLEAVE, "interleave", 0, 0, "fragments of all chunks are listed in turn")       \
	X(TEST_LATE, "test-late", 5, 0, "test() says not done n times too often")             \
	X(ACK_DELAY, "ack-delay", 0, 40, "a send completes ms after its bytes have arrived")  \
	X(CTRL_CLOSE, "ctrl-close", 0, 0, "the control connection closes")                    \
	X(DATA_CLOSE, "data-close", 0, 0, "a data connection closes: silence")                \
	X(KILL, "kill", 0, 0, "the process is killed")                                        \
	X(HALF_OPEN, "half-open", 0, 0, "nothing moves any more, nothing closes")             \
	X(SIZE_LARGER, "size-larger", 1, 0, "n bytes more are sent than were posted")         \
	X(SIZE_SMALLER, "size-smaller", 1, 0, "n bytes fewer are sent")                       \
	X(SIZE_ZERO, "size-zero", 0, 0, "nothing is sent but the header")                     \
	X(FLIP_BYTE, "flip-byte", 0, 0, "one bit of the byte is wrong")                       \
	X(SWAP_FRAGMENTS, "swap-fragments", 0, 0, "two fragments have each other's place")

enum emu_fault_kind {
#define X(name, text, n, ms, help) EMU_FAULT_##name,
	EMU_FAULTS(X)
#undef X
	EMU_FAULT_KINDS
};

#define EMU_FAULTS_MAX 16
#define EMU_ANY	       (-1)

struct emu_fault {
	enum emu_fault_kind kind;
	int64_t comm, req, byte, socket, n, ms, role;
};

struct emu_faults {
	struct emu_fault fault[EMU_FAULTS_MAX];
	unsigned count;
};

/* Pure. false: @why has the mistake. */
bool emu_faults_parse(const char *text, struct emu_faults *f, char *why, unsigned cap);
/* The first fault of the kind for this comm and (unless EMU_ANY) request; or NULL. */
const struct emu_fault *emu_fault_find(const struct emu_faults *f, enum emu_fault_kind kind,
				       enum emu_role role, int64_t comm, int64_t req);
const char *emu_fault_name(enum emu_fault_kind kind);

#endif
