/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces by name (files in /run/netns, as `ip netns` keeps them), and the
 * netlink socket inside one. The calling process must have one thread. Functions return 0
 * or -errno and print nothing.
 */
#ifndef MEASURE_LAB_NAMESPACE_H
#define MEASURE_LAB_NAMESPACE_H

#include <stddef.h>

#include "measure/lab/netlink.h"

#define LAB_NS_DIR "/run/netns"

/* Makes a namespace; -EEXIST if the name is taken. The caller stays in its own. */
int lab_ns_create(const char *name);
/* Removes the name, half-made or not; the namespace goes with its last process. */
int lab_ns_delete(const char *name);
/* A descriptor of it; close() it. -ENOENT. */
int lab_ns_open(const char *name);
/* A descriptor of the namespace the process is in. */
int lab_ns_self(void);
/* Moves the process into it; @ns_fd stays open. */
int lab_ns_enter(int ns_fd);
/* Waits until every link in it, lo too, is up and has its carrier; -ETIMEDOUT. */
int lab_ns_settle(int ns_fd, int timeout_ms);
/* Gives the process a private mount tree whose /sys shows the present namespace. */
int lab_ns_remount_sys(void);

/* A routing socket inside @ns_fd; close() it. */
int lab_ns_socket(int ns_fd);
/* Sends a request and waits for its answer: 0, or the kernel's error; @why has
 * its text, if any. */
int lab_ns_ask(int sock, struct tcpx_nl *m, char *why, size_t cap);

#endif
