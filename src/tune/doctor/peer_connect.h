/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's sockets to a peer, several at the same time. */
#ifndef TUNE_DOCTOR_PEER_CONNECT_H
#define TUNE_DOCTOR_PEER_CONNECT_H

#include "net/net.h"
#include "tune/info/machine.h"

struct attempt {
	int fd;
	int error; /* 0: it is connected; EINPROGRESS: it may still be; ETIMEDOUT: no answer */
};

/* A chosen NIC as the engine has it. */
void attempt_nic(const struct tcpx_host_nic *from, struct tcpx_nic *nic);
/* Begins one from a NIC as for data, or with NULL as for control. */
void attempt_start(const struct tcpx_nic *nic, const struct tcpx_addr *to, struct attempt *a);
/* Waits for those that are begun, REACH_TRY_MS at most. */
void attempts_finish(struct attempt *a, unsigned count);
void attempts_close(struct attempt *a, unsigned count);

#endif
