/* SPDX-License-Identifier: Apache-2.0 */
/* Faults at their time, in handshakes too. */
#include "core/engine/links.h"
#include "sim/sim.h"

static bool
due(const struct sim_world *w, uint64_t *at_ns)
{
	if (*at_ns > sim_now(w))
		return false;
	*at_ns = SIM_NEVER;
	return true;
}

/* The first engine's last NIC goes down, or comes back; of every other world its kernel says so. */
static void
set_nic(struct sim_world *w, bool up)
{
	struct sim_engine *e = &w->engine[0];
	uint32_t last = e->nic_count - 1;

	tcpx_fabric_set_nic_up(w->fabric, &e->nic[last].addr, up);
	if (w->seed / 2 % 2 || e->closed)
		return;
	atomic_store(&e->engine->nics.down[last], !up);
	atomic_store(&e->engine->nics.one_down, !up);
	tcpx_links_changed(e->engine, sim_now(w));
}

void
sim_faults_do(struct sim_world *w)
{
	struct tcpx_fabric *f = w->fabric;

	if (sim_faults_next_ns(w) > sim_now(w))
		return;
	for (int i = 0; i < SIM_CUTS; i++)
		if (due(w, &w->cut_ns[i]) && tcpx_fabric_count(f, TCPX_FABRIC_CONTROL))
			tcpx_fabric_cut_control(f, (uint32_t)sim_between(w, 0,
				tcpx_fabric_count(f, TCPX_FABRIC_CONTROL) - 1));
	for (int i = 0; i < SIM_BREAKS; i++)
		if (due(w, &w->break_ns[i]) && tcpx_fabric_count(f, TCPX_FABRIC_DATA))
			tcpx_fabric_break_channel(f, (uint32_t)sim_between(w, 0,
				tcpx_fabric_count(f, TCPX_FABRIC_DATA) - 1));
	for (int i = 0; i < 2; i++)
		if (due(w, &w->nic_ns[i]))
			set_nic(w, i);
}

uint64_t
sim_faults_next_ns(const struct sim_world *w)
{
	uint64_t next = SIM_NEVER;

	for (int i = 0; i < SIM_CUTS; i++)
		next = w->cut_ns[i] < next ? w->cut_ns[i] : next;
	for (int i = 0; i < SIM_BREAKS; i++)
		next = w->break_ns[i] < next ? w->break_ns[i] : next;
	for (int i = 0; i < 2; i++)
		next = w->nic_ns[i] < next ? w->nic_ns[i] : next;
	return next;
}
