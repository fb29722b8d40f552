/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our place in a job, from the launcher's variables. The first of these that has set rank and
 * size counts; of Kubernetes the rank alone decides, and the size must be set:
 *
 *	launcher	rank, size			on this host	rank 0 is at
 *	torchrun	RANK, WORLD_SIZE		LOCAL_RANK	MASTER_ADDR
 *	Open MPI	OMPI_COMM_WORLD_RANK, _SIZE	..._LOCAL_RANK
 *	PMI		PMI_RANK, PMI_SIZE		MPI_LOCALRANKID
 *	Kubernetes	JOB_COMPLETION_INDEX, TCPX_RANKS
 *	Slurm		SLURM_PROCID, SLURM_NTASKS	SLURM_LOCALID	the first of its nodes
 *
 * Where they are missing, PMIX_RANK is Open MPI's or PMI's rank, and JOB_COMPLETIONS TCPX_RANKS.
 * TCPX_RENDEZVOUS=HOST[:PORT] overrides the address of rank 0.
 */
#ifndef MEASURE_MESH_ENV_H
#define MEASURE_MESH_ENV_H

#include <stdint.h>

#include "base/err.h"
#include "measure/mesh/hosts.h"

enum { MESH_PORT = 28516, MESH_RANKS_MAX = 1024, MESH_JOB = 128 };

struct mesh_env {
	const char *launcher;    /* as in the table                                */
	unsigned rank, size, local_rank; /* local_rank 0 if unknown                */
	char host[MESH_HOST];    /* where rank 0 listens                           */
	uint16_t port;
	char job[MESH_JOB];      /* identifies the job; "" unknown                 */
	struct mesh_hosts hosts; /* as the launcher names them; may be empty       */
};

/* @env: "NAME=value", NULL-terminated. 0, or TCPX_ECONFIG (logged, with the variable, its value
 * and what is allowed); *out is empty then. */
TCPX_MUST_CHECK int mesh_env_read(char *const *env, struct mesh_env *out);
void mesh_env_fini(struct mesh_env *env);
/* "HOST", "HOST:PORT", "[v6]:PORT" to @out->host and port. 0 or -EINVAL, not logged. */
int mesh_env_rendezvous(const char *text, struct mesh_env *out);

#endif
