/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/plug.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl/comm.h"
#include "nccl/environ.h"
#include "nccl/hub.h"
#include "nccl/say.h"

#define NICS_MAX    64
#define WEIGHT_BITS 8
#define TUNER_NAME  "NCCL_TUNER_PLUGIN="
#define TUNER_FILE  "libnccl-tuner-tcpx-p2p.so"
#define TUNER_TABLE 10 /* the newest of NCCL 2.27, which has no tuner out of this file: tuner.h says why */

_Static_assert(PIPE_COMM_ID == UINT64_MAX >> WEIGHT_BITS && sizeof(void *) == 8, "a context has both");

/* NCCL's table has no place for it before v11. */
static struct plug plug = { .lock = PTHREAD_MUTEX_INITIALIZER,
			    .regions = { .lock = PTHREAD_MUTEX_INITIALIZER } };

enum nccl_result
tcpx_nccl_result(int code)
{
	switch (tcpx_err_group(code)) {
	case TCPX_GROUP_OK:
		return NCCL_OK;
	case TCPX_GROUP_CHANNEL:
	case TCPX_GROUP_SESSION:
		return NCCL_REMOTE_ERROR;
	case TCPX_GROUP_TRANSFER:
		return code == TCPX_ELENGTH || code == TCPX_ERANGE ? NCCL_INVALID_USAGE :
								     NCCL_INTERNAL_ERROR;
	case TCPX_GROUP_SYSTEM:
		return code == -EINVAL ? NCCL_INVALID_ARGUMENT : NCCL_SYSTEM_ERROR;
	default:
		return NCCL_INTERNAL_ERROR;
	}
}

/* plug.lock held. */
static int
make_devices(void)
{
	const char *chosen = tcpx_nccl_hub_nics_by();
	struct tcpx_nic_info nic[NICS_MAX];
	size_t nics = NICS_MAX, count;
	int rc = tcpx_nccl_hub_nics(nic, &nics);

	if (rc)
		return rc;
	nics = nics < NICS_MAX ? nics : NICS_MAX;
	count = tcpx_nccl_device_count(nics);
	plug.device = calloc(count, sizeof(*plug.device));
	if (!plug.device)
		return count ? -ENOMEM : -ENODEV;
	plug.device_count = count;
	for (size_t i = 0; i < count; i++)
		tcpx_nccl_device_make(&plug.device[i], nic, nics, i);
	tcpx_nccl_info("tcpx-p2p %s: %zu NICs%s%s, first %s %s, as %zu devices of %d Mb/s",
		       tcpx_version(), nics, chosen ? " by " : "", chosen ? chosen : "", nic[0].name,
		       nic[0].addr, count, plug.device[0].mbps);
	return 0;
}

/* NCCL's sends and receives are cut into pieces of 128 KiB, unless this says otherwise; its tuned
 * sockets have 512 KiB, too. It concerns the net alone. */
static void
set_piece(void)
{
	static char piece[] = "NCCL_P2P_NET_CHUNKSIZE=524288";

	if (tcpx_nccl_environ_add(piece) > 0)
		tcpx_nccl_info("%s: set for NCCL, as the environment has no other", piece);
}

/* The tuner beside this file. Without it NCCL spreads small collectives over all channels. Where NCCL found
 * this file by its name, the tuner has its name alone: NCCL 2.27.3 takes no path. */
static void
set_tuner(void)
{
	static char name[] = TUNER_NAME TUNER_FILE, tuner[PATH_MAX];
	const char *slash, *by = getenv("NCCL_NET_PLUGIN");
	Dl_info here;
	int dir, len;

	if (getenv("NCCL_TUNER_PLUGIN"))
		return;
	slash = dladdr(&plug, &here) ? strrchr(here.dli_fname, '/') : NULL;
	dir = slash ? (int)(slash + 1 - here.dli_fname) : 0;
	len = snprintf(tuner, sizeof(tuner), "%s%.*s%s", TUNER_NAME, dir, slash ? here.dli_fname : "",
		       TUNER_FILE);
	if (len >= (int)sizeof(tuner) || access(tuner + strlen(TUNER_NAME), R_OK) < 0)
		tcpx_nccl_info("small collectives are slower: no %s beside this plugin", TUNER_FILE);
	else if (tcpx_nccl_environ_add(by && strchr(by, '/') ? tuner : name) > 0)
		tcpx_nccl_info(TUNER_NAME "%s: set for NCCL, as the environment has no other",
			       getenv("NCCL_TUNER_PLUGIN"));
}

enum nccl_result
tcpx_nccl_init(nccl_logger logger, int table)
{
	int rc = 0;

	pthread_mutex_lock(&plug.lock);
	plug.logger = logger;
	tcpx_nccl_say_to(logger);
	if (!plug.device)
		rc = make_devices();
	if (rc == 0 && !plug.users)
		set_piece();
	if (rc == 0 && !plug.users && table <= TUNER_TABLE)
		set_tuner();
	if (rc == 0)
		plug.users++;
	pthread_mutex_unlock(&plug.lock);
	return tcpx_nccl_result(rc);
}

struct communicator
tcpx_nccl_communicator(uint64_t comm_id, const struct nccl_comm_config *config)
{
	int class = config ? config->traffic_class : NCCL_TRAFFIC_CLASS_UNDEF;

	class = class < 1 ? 1 : class < TCPX_LANE_WEIGHT_MAX ? class : TCPX_LANE_WEIGHT_MAX;
	return (struct communicator){ .id = comm_id & PIPE_COMM_ID, .weight = (uint32_t)class };
}

/* No memory: some versions of NCCL end a context twice, that of a communicator and of one split off. */
void *
tcpx_nccl_context(struct communicator c)
{
	return (void *)(uintptr_t)(c.id << WEIGHT_BITS | c.weight);
}

struct communicator
tcpx_nccl_of_context(const void *ctx)
{
	uint64_t word = (uintptr_t)ctx;

	return (struct communicator){ .id = word >> WEIGHT_BITS,
				      .weight = word & ((1 << WEIGHT_BITS) - 1) };
}

/*
 * NCCL may unload itself after its last communicator, and its logger with it. A context that was ended twice
 * makes one look like the last that is not: it has its logger back with its next call, and keeps what it dials.
 */
enum nccl_result
tcpx_nccl_finalize(void *ctx)
{
	struct comm *dialing = NULL;

	if (!ctx)
		return NCCL_OK; /* its init() failed */
	pthread_mutex_lock(&plug.lock);
	if (plug.users && --plug.users == 0) {
		tcpx_nccl_say_to(NULL);
		dialing = tcpx_nccl_comm_left(&plug);
	}
	pthread_mutex_unlock(&plug.lock);
	tcpx_nccl_comm_drop_all(dialing);
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_devices(int *count)
{
	*count = (int)plug.device_count;
	return plug.device ? NCCL_OK : NCCL_INVALID_USAGE;
}

enum nccl_result
tcpx_nccl_properties(int dev, struct nccl_props_v12 *props)
{
	if (dev < 0 || (size_t)dev >= plug.device_count)
		return NCCL_INVALID_ARGUMENT;
	tcpx_nccl_device_properties(&plug.device[dev], dev, props);
	return NCCL_OK;
}

/* The engine's threads start here, and not in init(): NCCL has moved its thread near its GPU by
 * now, and they inherit that. */
struct plug *
tcpx_nccl_plug(void)
{
	int rc = 0;

	pthread_mutex_lock(&plug.lock);
	tcpx_nccl_say_to(plug.logger); /* NCCL is loaded: it calls */
	if (!plug.hub)
		rc = tcpx_nccl_hub_open(&plug.hub);
	pthread_mutex_unlock(&plug.lock);
	return rc ? NULL : &plug;
}
