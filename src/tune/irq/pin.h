/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads on CPUs. The kernel silently narrows a mask with CPUs that a thread cannot have,
 * so every pin is read back and missing CPUs are reported. Threads: any; no state is kept.
 */
#ifndef TUNE_IRQ_PIN_H
#define TUNE_IRQ_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"

#define TCPX_PIN_NAME 32 /* of a thread, with the NUL */

struct tcpx_pin {
	int tid;                      /* 0: the calling thread                 */
	char name[TCPX_PIN_NAME];     /* of the thread; "" unknown             */
	struct tcpx_cpuset requested;
	struct tcpx_cpuset granted;   /* read back from the kernel             */
	struct tcpx_cpuset missing;   /* requested but not granted             */
	int rc;                       /* of this thread                        */
};

/* Pins one thread; 0 is the calling one. -EINVAL (none of the CPUs is available), -ESRCH,
 * -EPERM; not logged, in out->rc too. */
TCPX_MUST_CHECK int tcpx_pin_thread(int tid, const struct tcpx_cpuset *cpus,
				    struct tcpx_pin *out);

/* One line of a map: threads whose names match the pattern (as file names in a shell). */
struct tcpx_pin_rule {
	char pattern[TCPX_PIN_NAME];
	struct tcpx_cpuset cpus;
	bool spread;  /* the k-th matching thread on the k-th CPU alone */
};

/* "napi/eth1-*=36-51"; a "%" in front of the list spreads. -EINVAL, -ERANGE; not logged. */
TCPX_MUST_CHECK int tcpx_pin_rule_parse(const char *text, struct tcpx_pin_rule *rule);

#define TCPX_PIN_KERNEL (-1) /* instead of a process: the kernel's own threads */

/*
 * tcpx_pin_process - pin the threads of a process by their names
 * @pid:   or TCPX_PIN_KERNEL
 * @rules: the first matching one counts; threads without a match stay as they are
 * @out:   threads that matched, in the order of their ids; heap, the caller's
 * Threads that end meanwhile are left out. A thread's own failure is in its rc only.
 * Return: 0; -ESRCH (no such process), -ENOMEM, -errno. Not logged.
 */
TCPX_MUST_CHECK int tcpx_pin_process(int pid, const struct tcpx_pin_rule *rules,
				     unsigned rule_count, struct tcpx_pin **out,
				     unsigned *count);

#endif
