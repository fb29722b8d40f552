/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as JSON. An unknown fact is null, and "KEY_why" has the reason. */
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

static void
put_why(json_t *to, const char *key, const char *why)
{
	char name[80];

	snprintf(name, sizeof(name), "%s_why", key);
	json_object_set_new(to, key, json_null());
	json_object_set_new(to, name, json_string(why));
}

static void
put_maybe(json_t *to, const char *key, const struct tcpx_maybe *v)
{
	if (v->why)
		put_why(to, key, v->why);
	else
		json_object_set_new(to, key, json_integer(v->value));
}

static void
put_set(json_t *to, const char *key, const struct tcpx_maybe_set *v)
{
	if (v->why)
		put_why(to, key, v->why);
	else
		json_object_set_new(to, key, tool_json_cpus(&v->cpus));
}

/* Numbers and texts; a negative number or "" is unknown. */
static void
put_id(json_t *to, const char *key, long long id, const char *why)
{
	if (id < 0)
		put_why(to, key, why);
	else
		json_object_set_new(to, key, json_integer(id));
}

static void
put_text(json_t *to, const char *key, const char *text, const char *why)
{
	if (*text)
		json_object_set_new(to, key, out_json(text));
	else
		put_why(to, key, why);
}

/* ---- CPUs ------------------------------------------------------------------------- */

static json_t *
core_json(const struct tcpx_machine_core *core)
{
	json_t *json = json_object(), *cpus = json_array();

	for (unsigned i = 0; i < core->cpu_count; i++)
		json_array_append_new(cpus, json_integer(core->cpu[i]));
	json_object_set_new(json, "cpus", cpus);
	put_id(json, "node", core->node, "no node has its CPU");
	put_id(json, "l3", core->l3, "no file tells of an L3 cache");
	put_id(json, "package", core->package, "no file tells");
	return json;
}

static json_t *
node_json(const struct tcpx_topo *topo, unsigned i)
{
	const uint8_t *distance = topo->facts.distance[i];
	json_t *json = json_object(), *distances = json_array();
	bool known = topo->facts.cpus.node_count > 0;

	json_object_set_new(json, "id", json_integer(topo->facts.cpus.node[i].id));
	json_object_set_new(json, "cpus", tool_json_cpus(&topo->facts.cpus.node[i].cpus));
	put_maybe(json, "memory_kib", &topo->memory_kib[i]);
	for (unsigned j = 0; j < topo->facts.cpus.node_count; j++) {
		known &= distance[j] != 0;
		json_array_append_new(distances, json_integer(distance[j]));
	}
	if (known) {
		json_object_set_new(json, "distance", distances);
	} else {
		json_decref(distances);
		put_why(json, "distance", "no file tells, or not of all nodes");
	}
	return json;
}

static json_t *
cpus_json(const struct tcpx_topo *topo)
{
	const struct tcpx_host_cpus *cpus = &topo->facts.cpus;
	json_t *json = json_object();

	json_object_set_new(json, "count", json_integer(cpus->count));
	json_object_set_new(json, "allowed_count", json_integer(cpus->allowed_count));
	if (cpus->count) {
		json_object_set_new(json, "online", tool_json_cpus(&cpus->online));
		json_object_set_new(json, "allowed", tool_json_cpus(&cpus->allowed));
	} else {
		put_why(json, "online", "no file tells");
		put_why(json, "allowed", "no file tells");
	}
	put_set(json, "possible", &topo->possible);
	put_set(json, "present", &topo->present);
	put_set(json, "offline", &topo->offline);
	put_set(json, "isolated", &topo->facts.isolated);
	put_set(json, "nohz_full", &topo->nohz_full);
	put_set(json, "cpuset", &topo->cgroup);
	put_text(json, "cpuset_file", topo->cgroup_file, "no cpuset");
	put_set(json, "irq_default", &topo->irq_default);
	put_maybe(json, "smt", &topo->smt);
	return json;
}

/* ---- NICs ------------------------------------------------------------------------- */

static json_t *
queue_json(const struct tcpx_nic_queue *q)
{
	json_t *json = json_object();

	json_object_set_new(json, "direction", json_string(q->tx ? "tx" : "rx"));
	json_object_set_new(json, "queue", json_integer(q->index));
	put_maybe(json, "napi", &q->napi);
	put_maybe(json, "irq", &q->irq);
	put_maybe(json, "napi_thread", &q->pid);
	put_set(json, q->tx ? "xps_cpus" : "rps_cpus", &q->steer);
	if (q->tx)
		put_set(json, "xps_rxqs", &q->rxqs);
	else
		put_maybe(json, "rps_flow_cnt", &q->flows);
	return json;
}

static json_t *
vector_json(const struct tcpx_nic_vector *v)
{
	json_t *json = json_object();

	json_object_set_new(json, "irq", json_integer(v->v.irq));
	put_text(json, "name", v->v.name, "nobody has asked for it");
	put_text(json, "chip", v->v.chip, "no file tells");
	put_id(json, "hwirq", v->v.hwirq, "no file tells");
	json_object_set_new(json, "kind", json_string(tcpx_vector_kind_name(v->v.kind)));
	put_id(json, "queue", v->v.queue, v->v.kind == TCPX_VECTOR_MGMT
	       ? "it serves no queue" : "nothing tells");
	json_object_set_new(json, "map_source",
			    json_string(tcpx_vector_source_name(v->v.source)));
	json_object_set_new(json, "movable", json_boolean(v->v.movable));
	put_set(json, "requested", &v->requested);
	put_set(json, "effective", &v->effective);
	put_set(json, "hint", &v->hint);
	put_maybe(json, "node", &v->node);
	return json;
}

static json_t *
settings_json(const struct tcpx_topo_nic *nic)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		put_maybe(json, tcpx_nicset_name(i), &nic->set[i]);
	return json;
}

static json_t *
counts_json(const struct tcpx_topo_nic *nic)
{
	json_t *json = json_object();
	unsigned max = tcpx_topo_queues_max(nic);

	json_object_set_new(json, "rx", json_integer(nic->nic->queues_rx));
	json_object_set_new(json, "tx", json_integer(nic->nic->queues_tx));
	if (max)
		json_object_set_new(json, "max", json_integer(max));
	else
		put_why(json, "max", "neither the driver nor its vectors tell");
	return json;
}

static json_t *
addresses_json(const struct tcpx_host_nic *nic)
{
	json_t *json = json_array();

	for (unsigned i = 0; i < nic->addr_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&nic->addrs[i], addr, sizeof(addr));
		json_array_append_new(json, json_string(addr));
	}
	return json;
}

static json_t *
nic_json(const struct tcpx_topo_nic *nic)
{
	json_t *json = json_object(), *vectors = json_array(), *queues = json_array();
	const struct tcpx_host_place *place = &nic->nic->place;

	json_object_set_new(json, "name", out_json(nic->nic->ifname));
	put_id(json, "ifindex", nic->ifindex ? (long long)nic->ifindex : -1, "no file tells");
	json_object_set_new(json, "up", json_boolean(nic->nic->up));
	json_object_set_new(json, "hardware", json_boolean(nic->nic->hardware));
	json_object_set_new(json, "loopback", json_boolean(nic->nic->loopback));
	json_object_set_new(json, "addresses", addresses_json(nic->nic));
	put_text(json, "driver", nic->nic->driver, "no device stands behind it");
	put_text(json, "pci_driver", nic->pci_driver, "its device is not on a PCI bus");
	put_text(json, "pci", place->pci, "its device is not on a PCI bus");
	put_text(json, "pci_path", place->path, "its device is not on a PCI bus");
	put_text(json, "physfn", nic->physfn, "not a virtual function");
	put_id(json, "node", place->numa, "the device says none that exists");
	json_object_set_new(json, "node_source",
			    json_string(tcpx_host_numa_source_name(place->numa_source)));
	if (tcpx_cpuset_empty(&place->local_cpus))
		put_why(json, "local_cpus", "no file tells");
	else
		json_object_set_new(json, "local_cpus", tool_json_cpus(&place->local_cpus));
	put_id(json, "speed_mbps", nic->nic->speed_mbps ? (long long)nic->nic->speed_mbps : -1,
	       "the driver does not tell");
	put_id(json, "mtu", nic->nic->mtu ? (long long)nic->nic->mtu : -1, "no file tells");
	json_object_set_new(json, "queues", counts_json(nic));
	for (unsigned i = 0; i < nic->queue_count; i++)
		json_array_append_new(queues, queue_json(&nic->queues[i]));
	for (unsigned i = 0; i < nic->vector_count; i++)
		json_array_append_new(vectors, vector_json(&nic->vectors[i]));
	json_object_set_new(json, "queue_list", queues);
	json_object_set_new(json, "vectors", vectors);
	if (nic->vectors_why)
		json_object_set_new(json, "vectors_why", json_string(nic->vectors_why));
	json_object_set_new(json, "settings", settings_json(nic));
	return json;
}

/* ---- all -------------------------------------------------------------------------- */

static json_t *
gpu_json(const struct tcpx_topo *topo, unsigned g)
{
	const struct tcpx_host_gpu *gpu = &topo->facts.gpus[g];
	json_t *json = json_object(), *distance = json_object(), *nearest = json_array();
	enum tcpx_distance best = TCPX_DISTANCES;

	json_object_set_new(json, "index", json_integer(g));
	put_text(json, "pci", gpu->place.pci, "not known");
	json_object_set_new(json, "pci_path", json_string(gpu->place.path));
	put_id(json, "node", gpu->place.numa, "the device says none that exists");
	json_object_set_new(json, "node_source",
			    json_string(tcpx_host_numa_source_name(gpu->place.numa_source)));
	for (unsigned i = 0; i < topo->nic_count; i++) {
		enum tcpx_distance d = tcpx_host_distance(topo->nics[i].nic, gpu);

		if (!topo->nics[i].nic->hardware)
			continue;
		json_object_set_new(distance, topo->nics[i].nic->ifname,
				    json_string(tcpx_host_distance_name(d)));
		if (d < best) {
			best = d;
			json_array_clear(nearest);
		}
		if (d == best)
			json_array_append_new(nearest,
					      out_json(topo->nics[i].nic->ifname));
	}
	json_object_set_new(json, "distance", distance);
	json_object_set_new(json, "nearest_nics", nearest);
	return json;
}

static json_t *
threads_json(const struct tcpx_topo *topo)
{
	json_t *json = json_array();

	for (unsigned i = 0; i < topo->thread_count; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "pid", json_integer(topo->threads[i].pid));
		json_object_set_new(one, "name", out_json(topo->threads[i].name));
		put_set(one, "cpus", &topo->threads[i].cpus);
		json_array_append_new(json, one);
	}
	return json;
}

static void
put_hash(const struct tcpx_topo *topo, json_t *json)
{
	struct tcpx_machine m;
	char hash[20];

	if (tcpx_topo_machine(topo, &m) < 0) {
		put_why(json, "hash", "its facts contradict each other");
		return;
	}
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)tcpx_machine_hash(&m));
	json_object_set_new(json, "hash", json_string(hash));
	tcpx_machine_fini(&m);
}

json_t *
topo_json(const struct tcpx_topo *topo)
{
	json_t *json = json_object(), *nodes = json_array(), *cores = json_array();
	json_t *nics = json_array(), *gpus = json_array();

	for (unsigned i = 0; i < topo->facts.cpus.node_count; i++)
		json_array_append_new(nodes, node_json(topo, i));
	for (unsigned i = 0; i < topo->facts.core_count; i++)
		json_array_append_new(cores, core_json(&topo->facts.cores[i]));
	for (unsigned i = 0; i < topo->nic_count; i++)
		json_array_append_new(nics, nic_json(&topo->nics[i]));
	for (unsigned i = 0; i < topo->facts.gpu_count; i++)
		json_array_append_new(gpus, gpu_json(topo, i));
	json_object_set_new(json, "schema", json_integer(TCPX_TOPO_SCHEMA));
	json_object_set_new(json, "version", json_string(tcpx_version()));
	json_object_set_new(json, "source", out_json(topo->root));
	json_object_set_new(json, "fixture", json_boolean(topo->fixture));
	put_text(json, "kernel", topo->kernel, "no file tells");
	put_text(json, "boot_id", topo->boot_id, "no file tells");
	put_hash(topo, json);
	json_object_set_new(json, "cpus", cpus_json(topo));
	json_object_set_new(json, "nodes", nodes);
	json_object_set_new(json, "cores", cores);
	json_object_set_new(json, "nics", nics);
	json_object_set_new(json, "gpus", gpus);
	put_maybe(json, "irqbalance", &topo->irqbalance);
	put_maybe(json, "numa_balancing", &topo->numa_balancing);
	json_object_set_new(json, "napi_threads", threads_json(topo));
	return json;
}
