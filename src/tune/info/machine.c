/* SPDX-License-Identifier: Apache-2.0 */
/* Reads everything once. A part that fails leaves the other parts worth showing. */
#include "tune/info/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "net/registry.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

static void
read_settings(struct machine *m)
{
	if (tcpx_cfg_load_system(NULL, &m->cfg) < 0)
		return;
	if (tcpx_log_setup(tcpx_cfg_str(m->cfg, TCPX_SET_DEBUG),
			   tcpx_cfg_str(m->cfg, TCPX_SET_DEBUG_SUBSYS),
			   tcpx_cfg_str(m->cfg, TCPX_SET_DEBUG_FILE)) < 0) {
		tcpx_cfg_free(m->cfg);
		m->cfg = NULL;
	}
}

static int
read_control(struct machine *m)
{
	struct tcpx_host_control want;
	int rc;

	if (!m->cfg)
		return 0;
	want = tcpx_host_control_of(tcpx_cfg_str(m->cfg, TCPX_SET_CTRL),
				    tcpx_cfg_source(m->cfg, TCPX_SET_CTRL));
	rc = tcpx_host_nics_control(m->facts->nics, m->facts->nic_count, &want, m->selection, m->nics,
				    &m->nic_count, &m->control);
	return rc < 0 ? rc : 0;
}

/* The setting that chose the NICs; "": the caller gave the list. */
static const char *
selection_source(const struct machine *m)
{
	bool set = m->cfg && m->selection == tcpx_cfg_str(m->cfg, TCPX_SET_NICS);

	return set ? tcpx_cfg_source(m->cfg, TCPX_SET_NICS) : "";
}

static void
choose(struct machine *m)
{
	const struct tcpx_facts *f = m->facts;

	m->nics_rc = f->nics_rc;
	if (m->nics_rc == 0)
		m->nics_rc = tcpx_host_nics_by(f->nics, f->nic_count, &m->selection, selection_source(m),
					       m->nics, TCPX_HOST_NICS, &m->nic_count);
	if (m->nics_rc == 0)
		m->nics_rc = read_control(m);
	if (f->cpus.count)
		tcpx_host_defaults(m->nics, m->nic_count, &f->cpus, f->gpu_count, &m->plan);
}

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct machine *
machine_new(const char *command, const char *root, const char *selection)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m) {
		tool_fail(TOOL_DENIED, command, "no memory for the facts of the machine");
		return NULL;
	}
	read_settings(m);
	m->root = root ? root : m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_ROOT) : "/";
	m->selection = selection ? selection : m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_NICS) : "";
	if (!*m->root)
		m->root = "/";
	m->here = !strcmp(m->root, "/");
	if (!is_dir(m->root)) {
		tool_fail(TOOL_USAGE, command, "%s is not a directory that holds a machine's /sys "
			  "and /proc", m->root);
		machine_free(m);
		return NULL;
	}
	if (tcpx_topo_read_parts(m->root, &m->topo) < 0) {
		machine_free(m); /* no memory, which was logged */
		return NULL;
	}
	m->facts = &m->topo->facts;
	if (m->cfg)
		tcpx_host_nics_family(m->topo->facts.nics, m->topo->facts.nic_count,
				      tcpx_cfg_num(m->cfg, TCPX_SET_FAMILY));
	choose(m);
	return m;
}

void
machine_free(struct machine *m)
{
	if (!m)
		return;
	tcpx_cfg_free(m->cfg);
	tcpx_topo_free(m->topo);
	free(m);
}

const struct tcpx_host_nic *
machine_nearest(const struct machine *m, const struct tcpx_host_gpu *gpu,
		enum tcpx_distance *distance)
{
	const struct tcpx_host_nic *best = NULL;

	for (unsigned i = 0; i < m->nic_count; i++) {
		enum tcpx_distance d = tcpx_host_distance(&m->nics[i], gpu);

		if (best && d >= *distance)
			continue;
		best = &m->nics[i];
		*distance = d;
	}
	return best;
}

const struct tcpx_host_nic *
machine_chosen(const struct machine *m, const char *ifname)
{
	for (unsigned i = 0; i < m->nic_count; i++)
		if (!strcmp(m->nics[i].ifname, ifname))
			return &m->nics[i];
	return NULL;
}

/* Without NCCL_SOCKET_IFNAME, which names the NIC of the rendezvous. */
static const char *
named_nics(const struct machine *m)
{
	const char *source = m->cfg ? tcpx_cfg_source(m->cfg, TCPX_SET_NICS) : "";

	return m->cfg && !strstr(source, "NCCL_SOCKET_IFNAME") ? tcpx_cfg_str(m->cfg, TCPX_SET_NICS)
							       : "";
}

static void
find_roles(const struct machine *m, bool named, const char *control, struct tcpx_roles *out)
{
	tcpx_roles_find(&(struct tcpx_role_facts){
		.all = m->facts->nics, .all_count = m->facts->nic_count, .nics = m->nics,
		.nic_count = m->nic_count,
		.gpus = m->facts->gpus, .gpu_count = m->facts->gpu_count,
		.control = control ? control : *m->control.name ? m->control.ifname : NULL,
		.named = named }, out);
}

int
machine_roles(struct machine *m, const char *nics, const char *control, struct tcpx_roles *out)
{
	const char *names = nics ? nics : named_nics(m);

	if (*names && strcmp(names, m->selection) != 0) {
		m->selection = names;
		m->nics_rc = tcpx_host_nics_by(m->facts->nics, m->facts->nic_count, &m->selection,
					       selection_source(m), m->nics, TCPX_HOST_NICS,
					       &m->nic_count);
	}
	if (m->nics_rc < 0)
		return m->nics_rc;
	find_roles(m, *names && *m->selection, control, out);
	return 0;
}

void
machine_roles_by_gpu(const struct machine *m, const char *control, struct tcpx_roles *out)
{
	find_roles(m, false, control, out);
}

unsigned
machine_threads(const struct machine *m)
{
	uint64_t set = m->cfg ? tcpx_cfg_num(m->cfg, TCPX_SET_THREADS) : 0;

	return set ? (unsigned)set : m->plan.threads;
}

const char *
machine_nic_why(const struct machine *m, const struct tcpx_host_nic *nic, bool *used)
{
	const struct tcpx_host_nic *chosen = machine_chosen(m, nic->ifname);
	const char *unfit = tcpx_host_nic_unfit(nic);
	const char *left_out = nic->left_out;

	*used = chosen != NULL;
	if (chosen)
		return chosen->why;
	if (!strcmp(m->control.ifname, nic->ifname))
		return "control only";
	if (unfit)
		return unfit;
	if (left_out && (!*m->selection || *m->selection == '^'))
		return left_out;
	return *m->selection ? "not in the selection" : "more than are allowed";
}

void
machine_defaults(const struct machine *m, struct machine_default out[MACHINE_DEFAULTS])
{
	const struct tcpx_host_plan *p = &m->plan;
	const struct machine_default table[MACHINE_DEFAULTS] = {
		{ "threads", p->threads_why, p->threads, TCPX_SET_THREADS, false },
		{ "channels", p->channels_why, p->channels, TCPX_SET_CHANNELS, false },
		{ "spin_us", p->spin_why, p->spin_us, TCPX_SET_SPIN_US, false },
	};

	for (unsigned i = 0; i < MACHINE_DEFAULTS; i++) {
		out[i] = table[i];
		out[i].overridden = m->cfg && tcpx_cfg_num(m->cfg, out[i].setting) != 0;
	}
}

const char *
machine_provider(const struct machine *m)
{
	return m->cfg ? tcpx_net_name(tcpx_cfg_str(m->cfg, TCPX_SET_PROVIDER),
				      tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH)) : "";
}

const char *
machine_cpu_list(const struct tcpx_cpuset *set, char buf[MACHINE_CPU_LIST])
{
	if (tcpx_cpuset_format(set, buf, MACHINE_CPU_LIST) >= MACHINE_CPU_LIST)
		strcpy(buf + MACHINE_CPU_LIST - 4, "...");
	return *buf ? buf : "none";
}

uint16_t
machine_port(const struct machine *m)
{
	if (!m->cfg || tcpx_cfg_is_default(m->cfg, TCPX_SET_PORT))
		return MACHINE_SERVE_PORT;
	return (uint16_t)tcpx_cfg_num(m->cfg, TCPX_SET_PORT); /* off is 65536 */
}

long long
machine_number(const struct machine *m, const char *path)
{
	char text[128], *end;
	long long v;

	if (tcpx_host_text_read(m->root, path, text, sizeof(text)) <= 0)
		return -1;
	v = strtoll(text, &end, 10);
	return end == text || v < 0 ? -1 : v;
}
