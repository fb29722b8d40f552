/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An invented record with every field set, for the tests of printers and readers. Nothing
 * in it depends on the machine.
 */
#ifndef RESULT_SAMPLE_H
#define RESULT_SAMPLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/row.h"

#define SET(array, text) snprintf(array, sizeof(array), "%s", text)

static inline void
sample_lists(struct row *row)
{
	for (unsigned i = 0; i < 2; i++) {
		struct row_nic *nic = LIST_ADD(&row->per_nic);
		struct row_nic_counters *counters;
		struct row_channel *channel = LIST_ADD(&row->per_channel);
		struct row_thread *thread = LIST_ADD(&row->threads);

		SET(nic->nic, i ? "eth1" : "eth0");
		SET(nic->peer_nic, i ? "ens2" : "ens1");
		nic->bytes = i ? 335544320 : 1006632960;
		nic->share = i ? 0.25 : 0.75;
		nic->retransmits = i;
		counters = LIST_ADD(&row->nic_counters);
		SET(counters->side, i ? "server" : "client");
		SET(counters->nic, i ? "ens1" : "eth0");
		counters->rx_bytes = 10000 + i;
		counters->rx_packets = 100;
		counters->tx_bytes = 1020000000;
		counters->tx_packets = 15000;
		counters->rx_dropped = counters->rx_errors = i;
		counters->tx_dropped = counters->tx_errors = 2 * i;
		channel->tx.index = i;
		SET(channel->tx.nic, nic->nic);
		channel->tx.bytes = nic->bytes;
		channel->tx.chunks = nic->bytes >> 19;
		channel->tx.stalls = 3 * i;
		SET(channel->tx.tx_mode, "splice");
		channel->tx.lent_bytes = channel->tx.bytes / 2;
		SET(thread->name, i ? "tcpx-io1" : "tcpx-io0");
		SET(thread->requested, i ? "2-3" : "");
		SET(thread->granted, i ? "2-3" : "0-7");
		SET(thread->ran_on, i ? "2" : "1,5");
	}
	for (unsigned i = 0; i < 7; i++) {
		struct row_pair *pair = LIST_ADD(&row->pairs);

		pair->ours_us = 1000;
		pair->baseline_us = 940 + 10 * (double)i;
		pair->ratio = pair->baseline_us / pair->ours_us;
	}
	for (unsigned i = 1; i <= 3; i++) {
		struct row_point *point = LIST_ADD(&row->series);

		point->t_s = i;
		point->bytes = i == 2 ? 0 : 5250000000;
		point->GBps = i == 2 ? 0 : 5.25;
	}
	row_sum_up_pairs(row);
}

/* 64 MiB at 5.25 GB/s. */
static inline struct row *
sample_row(struct result *r, uint64_t size)
{
	struct row *row = result_add_row(r);

	row->size = size;
	SET(row->op, "write");
	SET(row->dir, "uni");
	SET(row->dist, "pull");
	row->depth = 16;
	row->lanes = 2;
	row->iters = 20;
	row->warmup = 5;
	row->nics = 2;
	row->channels = 2;
	row->chunk_bytes = 524288;
	row->window = 16;
	row->time_us = (struct row_time){ 12000, 12750, 14000, 14500, 15000, 12782.64, 250 };
	row->algbw_GBps = row->busbw_GBps = 5.25;
	row->peer_algbw_GBps = 5.2;
	row->transfers_per_s = 78.2;
	SET(row->peer_mem, "cuda:1");
	row->path_GBps = 50;
	row->path_1M_GBps = 45;
	row->path_fraction = 0.105;
	row->checked = true;
	row->cpu_s_per_GB = 0.35;
	row->client_cpu_s_per_GB = 0.15;
	row->server_cpu_s_per_GB = 0.2;
	row->baseline_GBps = 5.5;
	row->baseline_cpu_s_per_GB = 0.3;
	row->in_flight = (struct row_in_flight){ 7.5, 16 };
	row->ctxt_switches = 1234;
	row->stage_us = (struct row_stage){ 300, 90, 40, 70 };
	sample_lists(row);
	return row;
}

/* Half round trips of 64 bytes. */
static inline struct row *
sample_latency_row(struct result *r)
{
	struct row *row = sample_row(r, 64);

	row->iters = 10000;
	row->half_rtt_us = (struct row_time){ 14.2, 18.6, 44.1, 97, 412, 20.1, 6.6 };
	row->baseline_half_rtt_us = (struct row_percentiles){ 14.9, 33, 71 };
	for (unsigned i = 0; i < 20; i++) {
		struct row_bucket *bucket = LIST_ADD(&row->histogram);

		bucket->us = 12 * pow(1.2, i);
		bucket->count = 1000 / (i + 1);
	}
	return row;
}

static inline void
sample_result(struct result *r)
{
	static const char *const words[] = { "tcpx", "perf", "-b", "64M", "--baseline", "beta" };
	struct tcpx_nic_info *nic;
	struct result_place *place;
	struct result_env *env;
	struct result_gpu *gpu;

	*r = (struct result){ .schema = RESULT_SCHEMA, .setup_ms = 12.5 };
	SET(r->started, "2025-01-31T12:00:00Z");
	SET(r->version, "0.1.0");
	result_set_command(r, 6, (char *const *)words);
	SET(r->role, "client");
	SET(r->peer, "beta:28515");
	r->machine = (struct result_machine){ "alpha", "6.1.0 x86_64", "A CPU", 8, 1ull << 34 };
	SET(r->provider, "sock");
	r->note = strdup("made up");
	nic = LIST_ADD(&r->nics);
	*nic = (struct tcpx_nic_info){ "eth0", "10.0.0.1", 0, 100, 100000 };
	nic = LIST_ADD(&r->nics);
	*nic = (struct tcpx_nic_info){ "eth1", "10.1.0.1", -1, 0, 0 };
	gpu = LIST_ADD(&r->gpus);
	*gpu = (struct result_gpu){ "server", 1, "A GPU", "0000:65:00.0", 150ull << 30 };
	SET(r->unpack, "d2d");
	SET(r->peer_unpack, "kernel");
	SET(r->placement, "sides: CPU 0 and CPU 1");
	place = LIST_ADD(&r->topology);
	*place = (struct result_place){ "nic", "eth0", "0000:06:00.0", 0, "0-3" };
	env = LIST_ADD(&r->env);
	env->name = strdup("NCCL_DEBUG");
	env->value = strdup("INFO");
	result_add_setting(r, "TCPX_CHUNK", "512K", "default");
}

#endif
