/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tables of counts for each CPU: proc/interrupts, proc/softirqs and proc/stat.
 * Pure: text in, table out. A malformed row is left out and counted, since a CPU that comes
 * or goes while the kernel writes makes such rows.
 *
 * A column belongs to the CPU that the header names, not to its place: offline CPUs have
 * none. Threads: values; the caller's. Errors: -EINVAL (no header), -ENOMEM; not logged.
 */
#ifndef TUNE_FACTS_IRQTAB_H
#define TUNE_FACTS_IRQTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TCPX_IRQTAB_BYTES (256u << 20) /* longest table: 4096 CPUs, 5000 rows */

/* Its texts point into the table. */
struct tcpx_irq_row {
	long irq;             /* -1: a row of the architecture, like NMI             */
	const char *label;    /* "24", "NMI"                                         */
	const char *chip;     /* "PCI-MSIX-0000:00:03.0"; "" none                    */
	const char *hwirq;    /* "1-edge"; "" none                                   */
	const char *names;    /* of all its owners: "virtio2-input.0, other"         */
	unsigned columns;     /* its counts: some rows of the architecture have one
			       * count for all CPUs */
	const uint32_t *count; /* one for each CPU, in the order of @cpu below; wraps at 2^32 */
};

struct tcpx_irqtab {
	unsigned cpu_count;
	unsigned *cpu;             /* of each column, rising           */
	unsigned row_count;
	struct tcpx_irq_row *row;  /* IRQs by number, then the others in the text's order */
	unsigned left_out;         /* malformed rows                   */
	uint32_t *counts;
	char *text;
};

/*
 * tcpx_irqtab_parse - read proc/interrupts, or proc/softirqs, whose rows have names only
 * @text: @len bytes, any
 * @out:  give back with tcpx_irqtab_fini(); written on success
 *
 * Left out: rows of an IRQ with more or fewer counts than CPUs, with a count above 2^32 - 1,
 * a second row of one label, and a last row without its newline. An empty text is -EINVAL.
 */
TCPX_MUST_CHECK int tcpx_irqtab_parse(const char *text, size_t len, struct tcpx_irqtab *out);
void tcpx_irqtab_fini(struct tcpx_irqtab *tab);

/* NULL: none. */
const struct tcpx_irq_row *tcpx_irqtab_find(const struct tcpx_irqtab *tab, long irq);
/* By label, "NET_RX". */
const struct tcpx_irq_row *tcpx_irqtab_label(const struct tcpx_irqtab *tab, const char *label);
/* Over all CPUs; does not wrap. */
uint64_t tcpx_irq_row_total(const struct tcpx_irq_row *row);

/* The handler's number, "1-edge" is 1; -1: none. */
int64_t tcpx_irq_row_hwirq(const struct tcpx_irq_row *row);

/* ---- proc/stat -------------------------------------------------------------------- */

/* Time of a CPU in ticks of 1/USER_HZ s. guest is inside user, guest_nice inside nice. */
enum tcpx_cpu_time {
	TCPX_CPU_USER, TCPX_CPU_NICE, TCPX_CPU_SYSTEM, TCPX_CPU_IDLE, TCPX_CPU_IOWAIT,
	TCPX_CPU_IRQ, TCPX_CPU_SOFTIRQ, TCPX_CPU_STEAL, TCPX_CPU_GUEST, TCPX_CPU_GUEST_NICE,
	TCPX_CPU_TIMES
};

struct tcpx_cpu_times {
	unsigned cpu;
	uint64_t ticks[TCPX_CPU_TIMES]; /* 0 for times that an old kernel lacks */
};

/* The rows of single CPUs. @out: heap, the caller's, rising. Malformed rows are left out. */
TCPX_MUST_CHECK int tcpx_cpu_times_parse(const char *text, struct tcpx_cpu_times **out,
					 unsigned *count);
/* "softirq"; static. */
const char *tcpx_cpu_time_name(enum tcpx_cpu_time time);

#endif
