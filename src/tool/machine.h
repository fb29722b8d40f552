/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that info and doctor say something about: the settings, and the machine
 * below a root with the NICs and defaults that an engine would take there.
 */
#ifndef TOOL_MACHINE_H
#define TOOL_MACHINE_H

#include <jansson.h>

#include "base/cfg.h"
#include "host/host.h"

#define MACHINE_GPUS 64

struct machine {
	const char *root;           /* borrowed; "/" for this machine               */
	bool here;                  /* it is this machine, this process can ask it  */
	struct tcpx_cfg *cfg;       /* NULL: the settings are refused               */
	const char *selection;      /* of NICs; "" the default                      */
	struct tcpx_host_nic *all;
	unsigned all_count;
	struct tcpx_host_nic nics[TCPX_HOST_NICS]; /* the chosen ones               */
	unsigned nic_count;
	int nics_rc;                /* why none was chosen                          */
	struct tcpx_host_cpus cpus; /* count 0: unknown                             */
	struct tcpx_host_gpu gpus[MACHINE_GPUS];
	unsigned gpu_count;
	struct tcpx_host_plan plan; /* threads 0: unknown                           */
};

/*
 * machine_new - read settings and machine
 * @root: NULL: TCPX_ROOT; @selection: NULL: TCPX_NICS; both borrowed
 * Return: NULL with a message if the root is no directory, or without memory. What else
 * cannot be read is left unknown, and has been logged.
 */
struct machine *machine_new(const char *command, const char *root, const char *selection);
void machine_free(struct machine *m);

/* The chosen NIC that is nearest to @gpu, or NULL without NICs. */
const struct tcpx_host_nic *machine_nearest(const struct machine *m,
					    const struct tcpx_host_gpu *gpu,
					    enum tcpx_distance *distance);
/* The chosen NIC of that interface, or NULL. */
const struct tcpx_host_nic *machine_chosen(const struct machine *m, const char *ifname);

/* I/O threads an engine would start: TCPX_THREADS or the default. */
unsigned machine_threads(const struct machine *m);

/* A JSON string of any bytes. */
json_t *machine_json_text(const char *text);

#endif
