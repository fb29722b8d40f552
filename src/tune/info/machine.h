/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of info and doctor: the settings, and the machine below a root with the NICs
 * and defaults that an engine would choose there.
 */
#ifndef TUNE_INFO_MACHINE_H
#define TUNE_INFO_MACHINE_H

#include <jansson.h>

#include "base/cfg.h"
#include "host/host.h"
#include "tune/facts/role.h"
#include "tune/facts/topo.h"

#define MACHINE_DEFAULTS 3
#define MACHINE_CPU_LIST 160 /* bytes of a list of CPUs; a longer one ends in "..." */

struct machine {
	const char *root;           /* borrowed; "/" for this machine               */
	bool here;                  /* this machine, which this process can ask     */
	struct tcpx_cfg *cfg;       /* NULL: the settings are invalid               */
	const char *selection;      /* of NICs; "" the default                      */
	struct tcpx_topo *topo;     /* what there is                                */
	const struct tcpx_facts *facts; /* of @topo                                 */
	struct tcpx_host_nic nics[TCPX_HOST_NICS]; /* the chosen ones               */
	unsigned nic_count;
	int nics_rc;                /* why none was chosen, or no control NIC       */
	struct tcpx_host_nic control; /* its name is "": there is none              */
	struct tcpx_host_plan plan; /* threads 0: unknown                           */
	const char *peer;           /* HOST[:PORT],...: of doctor; borrowed; NULL none */
	struct reach *reach;        /* what doctor has found on the way there; borrowed; NULL none */
};

/*
 * machine_new - read settings and machine
 * @root: NULL: TCPX_ROOT; @selection: NULL: TCPX_NICS; both borrowed
 * Return: NULL with a message if the root is no directory, or without memory. What else
 * cannot be read is left unknown, and has been logged.
 */
struct machine *machine_new(const char *command, const char *root, const char *selection);
/* NULL is allowed. */
void machine_free(struct machine *m);

/* The chosen NIC that is nearest to @gpu, or NULL without NICs. */
const struct tcpx_host_nic *machine_nearest(const struct machine *m,
					    const struct tcpx_host_gpu *gpu,
					    enum tcpx_distance *distance);
/* The chosen NIC of that interface, or NULL. */
const struct tcpx_host_nic *machine_chosen(const struct machine *m, const char *ifname);

/*
 * machine_roles - which NICs carry data and which one control
 * @nics: NULL: those that TCPX_NICS or its like of NCCL's plugin name, if any
 * @control: NULL: the one that NCCL_GPUDIRECTTCPX_CTRL_DEV names, if any
 * NICs that are named become the chosen ones of @m. 0, or negative (logged).
 */
int machine_roles(struct machine *m, const char *nics, const char *control,
		  struct tcpx_roles *out);
/* By GPUs alone, among the chosen NICs: the roles that an environment is compared with. */
void machine_roles_by_gpu(const struct machine *m, const char *control, struct tcpx_roles *out);

/* The control port of a server here: TCPX_PORT, or that of tcpx serve; 0: any, or none. */
enum { MACHINE_SERVE_PORT = 28515 };
uint16_t machine_port(const struct machine *m);
/* A file below the machine's root that holds or begins with one number; or -1. */
long long machine_number(const struct machine *m, const char *path);
/* I/O threads an engine would start: TCPX_THREADS or the default. */
unsigned machine_threads(const struct machine *m);

/* Why a NIC is used or not. */
const char *machine_nic_why(const struct machine *m, const struct tcpx_host_nic *nic,
			    bool *used);

/* A default of the engine, and whether its setting overrides it. */
struct machine_default {
	const char *name, *why;
	unsigned value;
	enum tcpx_setting setting;
	bool overridden;
};

void machine_defaults(const struct machine *m, struct machine_default out[MACHINE_DEFAULTS]);

/* The provider that an engine would choose, before a trial: "sock"; "" without settings. */
const char *machine_provider(const struct machine *m);
/* Writes into @buf and returns it, or a static text. */
const char *machine_cpu_list(const struct tcpx_cpuset *set, char buf[MACHINE_CPU_LIST]);

/* All facts as JSON; NULL: no memory. */
json_t *machine_json(const struct machine *m);

#endif
