/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's work during a run: CPU time by kind and CPU, retransmits, interrupts by
 * CPU, and the affinity of every IRQ. Differences of two looks.
 */
#ifndef MEASURE_MATRIX_LOAD_H
#define MEASURE_MATRIX_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MATRIX_CPUS_MAX = 1024, MATRIX_IRQS_MAX = 4096, MATRIX_DRIFT = 160 };

struct matrix_look {
	double cpu_s[MATRIX_CPUS_MAX];     /* busy seconds, all kinds                    */
	double soft_s[MATRIX_CPUS_MAX];    /* of these in interrupts, hard and soft      */
	double user_s, system_s, steal_s;  /* of all CPUs                                */
	size_t cpus;                       /* highest CPU seen, plus 1                   */
	unsigned online;
	double retransmits;                /* segments; -1 unknown                       */
	uint32_t irq[MATRIX_IRQS_MAX];     /* hash of the affinity's text; 0 no such IRQ */
};

struct matrix_load {
	double steal;      /* share of the time of all CPUs                               */
	double background; /* user time of others, share of the time of all CPUs         */
	double user_s, system_s;
	double retransmits;
	double busiest;    /* busy share of the busiest CPU                               */
	int busiest_cpu;
	double soft;       /* interrupts, share of the time of all CPUs                   */
	size_t drifted;    /* IRQs whose affinity has changed                             */
	char drift[MATRIX_DRIFT]; /* their numbers                                        */
};

void matrix_look_now(struct matrix_look *look);
/* @own_user_s: of the command and its children. */
void matrix_load_between(const struct matrix_look *before, const struct matrix_look *after,
			 double seconds, double own_user_s, struct matrix_load *out);

#endif
