/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control connection: its stream and, where there is a secret, what protects it. Bytes of
 * frames go in and come out; what is between is sealed (seal/seal.h). One thread at a time: that
 * of a pending connection's loop, or the holder of session.lock.
 */
#ifndef CORE_SESSION_LINE_H
#define CORE_SESSION_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/context/context.h"
#include "proto/ctrl.h"
#include "seal/secret.h"

/* All zeros: no connection. */
struct line {
	struct tcpx_stream *stream;
	struct tcpx_seal *seal;          /* NULL: in clear                             */
	const struct tcpx_seal_ops *how; /* of seal                                    */
	uint8_t *rest;                   /* owned; bytes that the connection did not take yet */
	size_t rest_at, rest_len;
	size_t plain;                    /* bytes of frames that they end              */
	uint8_t *refusal;                /* owned; what came in clear                  */
	size_t refusal_len;
	bool more;                       /* more plaintext may wait in seal            */
	bool heard;                      /* something came                             */
	bool clear;                      /* ... in clear: anybody's                    */
	bool due;                        /* the handshake may have something to say    */
};

/* A sender's START, in clear, ahead of everything else. -ENOMEM. */
int tcpx_line_start(struct line *l, const struct tcpx_start *start);
/* From here on everything is sealed. An opener has one key, an acceptor those it accepts. */
int tcpx_line_seal(struct line *l, const struct tcpx_secret *k, bool opener,
		   const struct tcpx_seal_psk *psk, uint32_t count);
/* Frames may go: in clear, or each side has proved its key to the other. */
bool tcpx_line_proven(const struct line *l);
/* Bytes wait for the connection. tcpx_line_send() goes on with them, whatever its @data. */
static inline bool
tcpx_line_owes(const struct line *l)
{
	return l->rest != NULL;
}
/*
 * Sends frames' bytes, after what is due of START and of the handshake.
 * Return: how many of @data are in the kernel for good, sealed ones whole blocks at once; 0: no
 * more can go, and nothing is owed; -EAGAIN: call again when writable, with the same @data; or
 * the code for which the connection is dead.
 */
ssize_t tcpx_line_send(struct line *l, const struct tcpx_net_ops *net, const void *data, size_t len);
/* Sends what @ctrl has to say, until all of it is in the kernel (0), or the connection takes no more
 * (-EAGAIN), or for the code for which it is dead. */
int tcpx_line_flush(struct line *l, const struct tcpx_net_ops *net, struct tcpx_ctrl *ctrl);
/*
 * Receives bytes of frames. Before the peer has proved its key, an opener also gets a frame in
 * clear here, with clear set: a REFUSE, which anybody may have written. What is sealed stays proven
 * when an error follows it, which the next call gives.
 * Return: bytes; 0: closed by the peer; -EAGAIN: none now (what the handshake has to answer is
 * due); TCPX_EAUTH: the peer has another key; TCPX_EPROTO: no record; or the code of the network.
 */
ssize_t tcpx_line_recv(struct line *l, const struct tcpx_net_ops *net, bool opener, void *room,
		       size_t cap);
/* Keying material of this connection. A sealed and proven one only. */
int tcpx_line_key(struct line *l, const char *label, const void *context, size_t context_len,
		  void *out, size_t len);
/* Now and then: what only a busy one needs is given back. */
void tcpx_line_rest(struct line *l);
/* Closes it, if there is one. */
void tcpx_line_close(struct line *l, const struct tcpx_net_ops *net);

#endif
