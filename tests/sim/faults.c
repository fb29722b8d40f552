/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults at their time. A network that must stay survivable delays them until every session
 * is open: a connection lost inside a handshake may end it.
 */
#include "sim/sim.h"

static bool
all_open(const struct sim_world *w)
{
	for (uint32_t i = 0; i < w->engine_count; i++)
		for (uint32_t k = 0; k < w->engine_count; k++) {
			struct tcpx_peer_info info = { .struct_size = sizeof(info) };

			if (w->engine[i].closed || w->engine[k].closed)
				continue;
			if (tcpx_peer_query(w->engine[i].peer[k], &info) || info.status)
				return false;
		}
	return true;
}

static bool
due(const struct sim_world *w, uint64_t *at_ns)
{
	if (*at_ns > tcpx_fabric_now(w->fabric))
		return false;
	*at_ns = SIM_NEVER;
	return true;
}

void
sim_faults_do(struct sim_world *w)
{
	struct tcpx_fabric *f = w->fabric;
	struct sim_engine *e = &w->engine[0];

	if (sim_faults_next_ns(w) > tcpx_fabric_now(f))
		return;
	if (w->weather == SIM_SURVIVABLE && !all_open(w))
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
			tcpx_fabric_set_nic_up(f, &e->nic[e->nic_count - 1].addr, i);
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
