/* SPDX-License-Identifier: Apache-2.0 */
/* Environments of launchers become a rank, a size and a rendezvous, or are refused. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/mesh/env.h"
#include "tool/tool.h"

/* Words "NAME=value" between blanks. */
static int
read_env(const char *line, struct mesh_env *e)
{
	static char text[1024];
	char *env[32];
	int n = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok(text, " "); w && n < 31; w = strtok(NULL, " "))
		env[n++] = w;
	env[n] = NULL;
	return mesh_env_read(env, e);
}

#define TORCH "RANK=5 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=a3-0 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=run7 "
#define OMPI "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_NAMESPACE=job1 "
#define SLURM "SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_JOB_ID=77 SLURM_JOB_NODELIST=a3-[0-1] "
#define POD "JOB_COMPLETION_INDEX=3 HOSTNAME=mesh-3 "

static const struct {
	const char *env, *launcher;
	unsigned rank, size, local;
	const char *host;
	unsigned port;
	const char *job;
	size_t hosts;
} good[] = {
	{ TORCH, "torchrun", 5, 16, 1, "a3-0", 29501, "run7", 0 },
	{ "RANK=0 WORLD_SIZE=2 MASTER_ADDR=h", "torchrun", 0, 2, 0, "h", MESH_PORT, "", 0 },
	{ OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2", "Open MPI", 1, 2, 1, "127.0.0.1", MESH_PORT, "job1", 0 },
	{ OMPI "TCPX_RENDEZVOUS=10.0.0.1:7000", "Open MPI", 1, 2, 1, "10.0.0.1", 7000, "job1", 0 },
	{ OMPI "MASTER_ADDR=m", "Open MPI", 1, 2, 1, "m", MESH_PORT, "job1", 0 },
	{ "PMIX_RANK=1 OMPI_COMM_WORLD_SIZE=3 MASTER_ADDR=m", "Open MPI", 1, 3, 0, "m", MESH_PORT, "", 0 },
	{ "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MASTER_ADDR=m", "PMI", 1, 2, 0, "m", MESH_PORT, "", 0 },
	{ POD "TCPX_RANKS=4 TCPX_RENDEZVOUS=mesh-0.mesh", "Kubernetes", 3, 4, 0, "mesh-0.mesh",
	  MESH_PORT, "", 0 },
	{ POD "JOB_COMPLETIONS=4 TCPX_RENDEZVOUS=[fd00::1]:9", "Kubernetes", 3, 4, 0, "fd00::1", 9, "", 0 },
	{ SLURM, "Slurm", 9, 16, 1, "a3-0", MESH_PORT, "77", 2 },
	{ SLURM "SLURM_STEP_NODELIST=b[07-09]", "Slurm", 9, 16, 1, "b07", MESH_PORT, "77", 3 },
	{ SLURM "MASTER_ADDR=m MASTER_PORT=100", "Slurm", 9, 16, 1, "m", 101, "77", 2 },
	/* several at once: mpirun and torchrun run inside an allocation of Slurm's */
	{ SLURM OMPI "MASTER_ADDR=m", "Open MPI", 1, 2, 1, "m", MESH_PORT, "job1", 0 },
	{ SLURM TORCH, "torchrun", 5, 16, 1, "a3-0", 29501, "run7", 0 },
	{ SLURM "RANK=3", "Slurm", 9, 16, 1, "a3-0", MESH_PORT, "77", 2 },
	{ SLURM "RANK= WORLD_SIZE=", "Slurm", 9, 16, 1, "a3-0", MESH_PORT, "77", 2 },
};

TEST(launchers)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct mesh_env e;

		print_message("# %s\n", good[i].env);
		assert_int_equal(read_env(good[i].env, &e), 0);
		assert_string_equal(e.launcher, good[i].launcher);
		assert_int_equal(e.rank, good[i].rank);
		assert_int_equal(e.size, good[i].size);
		assert_int_equal(e.local_rank, good[i].local);
		assert_string_equal(e.host, good[i].host);
		assert_int_equal(e.port, good[i].port);
		assert_string_equal(e.job, good[i].job);
		assert_int_equal(e.hosts.count, good[i].hosts);
		mesh_env_fini(&e);
	}
}

static const struct {
	const char *env, *says;
} bad[] = {
	{ "", "no rank in the environment" },
	{ "RANK=0", "no rank in the environment" },
	{ "RANK=2 WORLD_SIZE=2 MASTER_ADDR=h", "RANK=2: allowed is 0 to 1" },
	{ "RANK=x WORLD_SIZE=2 MASTER_ADDR=h", "RANK=x: allowed is 0 to 1" },
	{ "RANK=0 WORLD_SIZE=1 MASTER_ADDR=h", "WORLD_SIZE=1: allowed is 2 to 1024" },
	{ "RANK=0 WORLD_SIZE=99999 MASTER_ADDR=h", "WORLD_SIZE=99999" },
	{ "RANK=0 WORLD_SIZE=-2 MASTER_ADDR=h", "WORLD_SIZE=-2" },
	{ "RANK=0 WORLD_SIZE=2 LOCAL_RANK=7 MASTER_ADDR=h", "LOCAL_RANK=7" },
	{ "RANK=0 WORLD_SIZE=2", "set TCPX_RENDEZVOUS" },
	{ "RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=65535", "MASTER_PORT=65535" },
	{ "RANK=0 WORLD_SIZE=2 TCPX_RENDEZVOUS=h:0", "TCPX_RENDEZVOUS=h:0" },
	{ "RANK=0 WORLD_SIZE=2 TCPX_RENDEZVOUS=:80", "TCPX_RENDEZVOUS=:80" },
	{ POD, "set TCPX_RANKS" },
	{ POD "TCPX_RANKS=3", "JOB_COMPLETION_INDEX=3: allowed is 0 to 2" },
	{ SLURM "SLURM_STEP_NODELIST=a[", "SLURM_STEP_NODELIST=a[" },
};

/* The last line that was logged. */
static void
keep(void *arg, int level, const char *line)
{
	snprintf(arg, 512, "%s", line);
}

TEST(what_is_refused)
{
	char line[512];

	tcpx_log_sink(keep, line);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct mesh_env e;

		print_message("# %s\n", bad[i].env);
		line[0] = '\0';
		assert_int_equal(read_env(bad[i].env, &e), TCPX_ECONFIG);
		if (!strstr(line, bad[i].says))
			fail_msg("'%s' does not say '%s'", line, bad[i].says);
		assert_null(e.hosts.name);
	}
	tcpx_log_sink(NULL, NULL);
}

static const struct {
	const char *text, *host;
	unsigned port;
} places[] = {
	{ "h", "h", MESH_PORT }, { "h:1", "h", 1 }, { "10.0.0.1:65535", "10.0.0.1", 65535 },
	{ "[::1]", "::1", MESH_PORT }, { "[::1]:5", "::1", 5 }, { "fd00::7", "fd00::7", MESH_PORT },
	{ "h:0", NULL, 0 }, { "h:65536", NULL, 0 }, { "h:", NULL, 0 }, { "", NULL, 0 },
	{ "[::1", NULL, 0 }, { "[::1]x", NULL, 0 }, { "[]:1", NULL, 0 },
};

TEST(places_to_meet)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct mesh_env e = { 0 };
		int rc = mesh_env_rendezvous(places[i].text, &e);

		print_message("# %s\n", places[i].text);
		assert_int_equal(rc == 0, places[i].host != NULL);
		if (rc)
			continue;
		assert_string_equal(e.host, places[i].host);
		assert_int_equal(e.port, places[i].port);
	}
}

static const struct {
	const char *text, *names; /* NULL: refused */
} lists[] = {
	{ "a", "a" }, { "a,b", "a,b" }, { "a[0-2]", "a0,a1,a2" }, { "a[1,3-4]b", "a1b,a3b,a4b" },
	{ "n[08-10]", "n08,n09,n10" }, { "r[1-2]n[0-1]", "r1n0,r1n1,r2n0,r2n1" },
	{ "a[1],b[2-3],c", "a1,b2,b3,c" }, { "[1-2]", "1,2" },
	{ "", NULL }, { "a,", NULL }, { ",a", NULL }, { "a[", NULL }, { "a]", NULL }, { "a[]", NULL },
	{ "a[1", NULL }, { "a[1-]", NULL }, { "a[-1]", NULL }, { "a[2-1]", NULL }, { "a[x]", NULL },
	{ "a[1,]", NULL }, { "a b", NULL }, { "a[1[2]]", NULL }, { "a[0-999999]", NULL },
	{ "a[0-99999999999]", NULL }, { "a[0-9][0-9][0-9][0-9]", NULL },
};

TEST(lists_of_hosts)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		char names[512] = "";
		struct mesh_hosts h;
		int rc = mesh_hosts_parse(lists[i].text, &h);

		print_message("# %s\n", lists[i].text);
		assert_int_equal(rc == 0, lists[i].names != NULL);
		for (size_t k = 0; k < h.count; k++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 k ? "," : "", h.name[k]);
		if (!rc)
			assert_string_equal(names, lists[i].names);
		mesh_hosts_fini(&h);
	}
}
