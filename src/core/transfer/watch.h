/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers whose ends the application takes from the engine's queue. */
#ifndef CORE_TRANSFER_WATCH_H
#define CORE_TRANSFER_WATCH_H

struct tcpx_xfer;

/* A post begins: its status becomes -EAGAIN, an end that was not taken goes. */
void tcpx_watch_posted(struct tcpx_xfer *x);
/* It has ended, and its status says so. */
void tcpx_watch_ended(struct tcpx_xfer *x);
/* The handle goes: nothing of it is reported any more. */
void tcpx_watch_forget(struct tcpx_xfer *x);
/* The application has seen its end. */
void tcpx_watch_observe(struct tcpx_xfer *x);

#endif
