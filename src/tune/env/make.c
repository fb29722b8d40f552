/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/env/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/plan.h"
#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/info/nccl_plugin.h"
#include "tune/texts/forms.h"

const char *const env_form_names[ENV_FORMS + 1] = { "sh", "json", "docker", "slurm", NULL };

#define STR(x) #x
#define TEXT(x) STR(x)

/* The part that does not depend on the machine: Google's NCCL settings for A3-high. */
static const struct {
	const char *name, *value, *why;
} fixed[] = {
	{ "NCCL_DYNAMIC_CHUNK_SIZE", TEXT(ENV_CHUNK), "bytes a socket sends as one piece; unset "
	  "is 0, and nothing moves" },
	{ "NCCL_P2P_NET_CHUNKSIZE", TEXT(ENV_CHUNK), "NCCL's own piece, the same" },
	{ "NCCL_BUFFSIZE", "8388608", "so that a slice is 4 pieces, one for each socket" },
	{ "NCCL_NSOCKS_PERTHREAD", "4", "sockets of a connection" },
	{ "NCCL_SOCKET_NTHREADS", "1", "threads of a connection" },
	{ "NCCL_MIN_NCHANNELS", "8", "connections between two GPUs" },
	{ "NCCL_MAX_NCHANNELS", "8", "connections between two GPUs" },
	{ "NCCL_MIN_ZCOPY_SIZE", "4096", "host memory from so many bytes on is not copied" },
	{ "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", "50000", "unset is 5 s for each "
	  "connection" },
	{ "NCCL_GPUDIRECTTCPX_FORCE_ACK", "0", "acknowledgements as the kernel likes" },
	{ "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX", ENV_PREFIX, "where the receive daemon has its "
	  "sockets; unset is /tmp" },
	{ "NCCL_NET_GDR_LEVEL", "PIX", "a GPU by the NIC on its own switch" },
	{ "NCCL_CROSS_NIC", "0", "a NIC reaches the same NIC of others" },
	{ "NCCL_P2P_PXN_LEVEL", "0", "no detour by another GPU" },
};

static int
add(struct env_set *set, const char *name, const char *value, const char *why)
{
	char *copy = value ? strdup(value) : NULL;

	if (!copy || set->count == ENV_VARS)
		return free(copy), -ENOMEM;
	set->var[set->count++] = (struct env_var){ name, why, copy };
	return 0;
}

static bool
is_control(const struct tcpx_roles *roles, const char *ifname)
{
	return roles->control && !strcmp(roles->control->ifname, ifname);
}

/* A NIC that all connections could use is left to control, if there is another for data. */
static void
drop_control(struct tcpx_roles *roles)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < roles->count; i++)
		if (!is_control(roles, roles->data[i]->ifname))
			roles->data[kept++] = roles->data[i];
	if (kept)
		roles->count = kept;
}

/* The plugin takes an entry as the beginning of names. "=" in front of the list makes them
 * whole names, where that matters. */
static void
list_nics(const struct machine *m, const struct tcpx_roles *roles, char *buf, size_t cap)
{
	bool whole = false;
	size_t len = 0;

	for (unsigned i = 0; i < roles->count; i++)
		for (unsigned k = 0; k < m->facts->nic_count; k++)
			whole |= strcmp(m->facts->nics[k].ifname, roles->data[i]->ifname) &&
				 !strncmp(m->facts->nics[k].ifname, roles->data[i]->ifname,
					  strlen(roles->data[i]->ifname));
	buf[0] = '\0';
	for (unsigned i = 0; i < roles->count && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%s",
					i ? "," : whole ? "=" : "", roles->data[i]->ifname);
}

static int
add_bindings(const struct machine *m, const char *nics, struct env_set *set)
{
	struct tcpx_plan_options options = TCPX_PLAN_DEFAULTS;
	char *tx = NULL, *rx = NULL;
	struct tcpx_machine machine;
	struct tcpx_plan plan;
	int rc;

	rc = tcpx_facts_machine(m->facts, m->root, NULL, NULL, &machine);
	if (rc == -ENOMEM)
		return rc;
	options.nics = nics + (*nics == '=');
	if (rc == 0) {
		rc = tcpx_plan_cpus(&machine, &options, &plan);
		tcpx_machine_fini(&machine);
	}
	if (rc) {
		snprintf(set->left_out, sizeof(set->left_out), "bindings: the machine's CPUs make no "
			 "plan (tcpx irq plan tells why)");
		return rc == -ENOMEM ? rc : 0;
	}
	rc = tcpx_plan_bindings(&plan, false, &tx);
	if (rc == 0)
		rc = tcpx_plan_bindings(&plan, true, &rx);
	if (rc == 0)
		rc = add(set, "NCCL_GPUDIRECTTCPX_TX_BINDINGS", tx, "CPUs that send: tcpx irq plan");
	if (rc == 0)
		rc = add(set, "NCCL_GPUDIRECTTCPX_RX_BINDINGS", rx, "CPUs that receive: tcpx irq plan");
	if (rc == -ERANGE) {
		snprintf(set->left_out, sizeof(set->left_out), "bindings: more ranges of CPUs than "
			 "the plugin has room for");
		rc = 0;
	}
	free(tx);
	free(rx);
	tcpx_plan_fini(&plan);
	return rc;
}

int
env_make(const struct machine *m, const struct tcpx_roles *found, struct env_set *out)
{
	struct tcpx_roles roles = *found;
	const char *control = roles.control ? roles.control->ifname : NULL;
	char nics[TCPX_MACHINE_NICS * 17];
	int rc = 0;

	*out = (struct env_set){ .exclusive = true };
	if (!roles.by_gpu && !roles.named)
		drop_control(&roles);
	list_nics(m, &roles, nics, sizeof(nics));
	if (*nics)
		rc = add(out, "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", nics, roles.data_why);
	if (rc == 0 && control && !tcpx_roles_data(&roles, control))
		rc = add(out, "NCCL_GPUDIRECTTCPX_CTRL_DEV", control, roles.control_why);
	if (rc == 0 && control)
		rc = add(out, "NCCL_SOCKET_IFNAME", control, "how processes find each other");
	for (size_t i = 0; i < ARRAY_LEN(fixed) && rc == 0; i++)
		rc = add(out, fixed[i].name, fixed[i].value, fixed[i].why);
	if (rc == 0 && *nics)
		rc = add_bindings(m, nics, out);
	if (rc == 0 && *nics)
		rc = add(out, "TCPX_NICS", nics, "the same NICs for tcpx");
	if (rc)
		env_fini(out);
	return rc;
}

/* LD_LIBRARY_PATH with the file's folder before what this environment has. */
static int
add_folder(const char *file, struct env_set *set)
{
	const char *now = getenv("LD_LIBRARY_PATH");
	int len = (int)(strrchr(file, '/') - file), rc = -ENOMEM;
	char *value;

	now = now ? now : "";
	if (asprintf(&value, "%.*s%s%s", len, file, *now ? ":" : "", now) < 0)
		return rc;
	rc = add(set, "LD_LIBRARY_PATH", value, "where the plugin lies");
	free(value);
	return rc;
}

int
env_make_nccl(const char *nics, struct env_set *out)
{
	const char *net = getenv("NCCL_NET");
	struct nccl_plugin plugin;
	char file[512] = "";
	int rc = 0;

	*out = (struct env_set){ 0 };
	if (nics && setenv("TCPX_NICS", nics, 1))
		return -ENOMEM;
	nccl_plugin_ask(NCCL_PLUGIN_NAME, &plugin);
	if (!plugin.loads && !nccl_plugin_file(file, sizeof(file)))
		return tcpx_fail(TCPX_SUB_TOOL, -ENOENT, "no " NCCL_PLUGIN " is in the loader's path, or "
				 "where this program was installed");
	if (!plugin.loads) {
		rc = add_folder(file, out);
		nccl_plugin_ask(file, &plugin);
	}
	if (!plugin.starts)
		snprintf(out->idle, sizeof(out->idle), "%s", plugin.why);
	if (rc == 0)
		rc = add(out, "NCCL_NET_PLUGIN", NCCL_PLUGIN_NAME, "for every rank: one without it "
			 "cannot connect to the others");
	if (rc == 0 && net && *net && strcasecmp(net, NCCL_PLUGIN_NAME))
		rc = add(out, "NCCL_NET", NCCL_PLUGIN_NAME, "it names another net, and NCCL takes no other");
	if (rc == 0 && nics)
		rc = add(out, "TCPX_NICS", nics, "messages go over these NICs");
	if (rc)
		env_fini(out);
	return rc;
}

void
env_fini(struct env_set *set)
{
	while (set->count)
		free(set->var[--set->count].value);
}

void
env_quote(FILE *f, const char *text)
{
	if (*text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_./:,=-+")]) {
		fputs(text, f);
		return;
	}
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", f);
		else
			fputc(*text, f);
	}
	fputc('\'', f);
}

void
env_print(FILE *f, const struct env_set *set, enum env_form form)
{
	if (form == ENV_SLURM)
		fprintf(f, "%s# srun hands the environment on; --export would cut values at commas\n"
			"# as sbatch knows no --cpu-bind: srun binds no process to CPUs\nexport SLURM_CPU_BIND=none\n",
			set->exclusive ? "#SBATCH --exclusive\n" : "");
	for (unsigned i = 0; i < set->count; i++) {
		const struct env_var *v = &set->var[i];

		fprintf(f, "# %s\n%s%s=", v->why, form == ENV_DOCKER ? "" : "export ", v->name);
		if (form == ENV_DOCKER)
			fputs(v->value, f); /* docker run --env-file keeps quotes as they are */
		else
			env_quote(f, v->value);
		fputc('\n', f);
	}
	if (*set->left_out)
		fprintf(f, "# left out: %s\n", set->left_out);
}

json_t *
env_json(const struct env_set *set)
{
	json_t *values = json_object(), *why = json_object();

	for (unsigned i = 0; i < set->count; i++) {
		json_object_set_new(values, set->var[i].name, out_json(set->var[i].value));
		json_object_set_new(why, set->var[i].name, json_string(set->var[i].why));
	}
	return json_pack("{s:o, s:o, s:o}", "variables", values, "why", why, "left_out",
			 *set->left_out ? json_string(set->left_out) : json_null());
}
