/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the record, in the order of row.h and of the JSON. A field is added
 * here, in row.h, in docs/result.schema.json and docs/result-schema.md.
 */
#include "measure/report/result_fields.h"

#include "measure/report/row.h"
#include "tool/tool.h"
#include "base/figures.h"
#include "base/shape_table.h"

/* A counter of which differences are taken. */
#define RISE(member) { AT(member), .type = FIELD_COUNT, .use = FIGURE_SUM }
/* A member by another name. */
#define MAYBE_COUNT(member) { AT(member), .type = FIELD_COUNT, .optional = true }
#define AS(name_, kind, member, ...) \
	{ .name = name_, .offset = offsetof(S, member), .type = kind, __VA_ARGS__ }

static const char *const ops[] = { "write", "read", "sendrecv", "lane", NULL };
static const char *const dirs[] = { "uni", "bi", NULL };
static const char *const dists[] = { "pull", "rr", NULL };
static const char *const sides[] = { "client", "server", NULL };
static const char *const roles[] = { "self", "client", "server", "mesh", NULL };
static const char *const plans[] = { "turns", "at once", NULL };

#define S struct row_time
static const struct field time_fields[] = {
	NUMBER(min), NUMBER(p50), NUMBER(p99), NUMBER(p999), NUMBER(max), NUMBER(mean),
	NUMBER(stdev),
};
static const struct shape time_shape = SHAPE(time_fields);
static const struct field maybe_time_fields[] = {
	MAYBE(min), MAYBE(p50), MAYBE(p99), MAYBE(p999), MAYBE(max), MAYBE(mean),
	MAYBE(stdev),
};
static const struct shape maybe_time_shape = SHAPE(maybe_time_fields);
#undef S

#define S struct row_percentiles
static const struct field percentile_fields[] = { MAYBE(p50), MAYBE(p99), MAYBE(p999) };
static const struct shape percentile_shape = SHAPE(percentile_fields);
#undef S

#define S struct row_interval
static const struct field interval_fields[] = { MAYBE(lo), MAYBE(hi) };
static const struct shape interval_shape = SHAPE(interval_fields);
#undef S

#define S struct row_pair
static const struct field pair_fields[] = {
	NUMBER(ours_us), NUMBER(baseline_us), NUMBER(ratio),
};
static const struct shape pair_shape = SHAPE(pair_fields);
#undef S

#define S struct row_point
static const struct field point_fields[] = { NUMBER(t_s), COUNT(bytes), NUMBER(GBps) };
static const struct shape point_shape = SHAPE(point_fields);
#undef S

#define S struct row_in_flight
static const struct field in_flight_fields[] = { NUMBER(mean), COUNT(max) };
static const struct shape in_flight_shape = SHAPE(in_flight_fields);
#undef S

#define S struct row_nic
static const struct field nic_fields[] = {
	STRING(nic), STRING(peer_nic), COUNT(bytes), NUMBER(share), COUNT(retransmits),
};
static const struct shape nic_shape = SHAPE(nic_fields);
#undef S

#define S struct row_nic_counters
static const struct field nic_counters_fields[] = {
	ONE_OF(side, sides), { AT(nic), .type = FIELD_STRING, .room = 32, .use = FIGURE_KEY },
	RISE(rx_bytes), RISE(rx_packets), RISE(rx_dropped), RISE(rx_errors), RISE(tx_bytes),
	RISE(tx_packets), RISE(tx_dropped), RISE(tx_errors),
};
static const struct shape row_nic_counters_shape = SHAPE(nic_counters_fields);
const struct shape nic_counters_shape = { /* without the side */
	.bytes = sizeof(S), .fields = nic_counters_fields + 1,
	.count = ARRAY_LEN(nic_counters_fields) - 1 };
#undef S

#define S struct row_channel
static const struct field channel_fields[] = {
	AS("channel", FIELD_INDEX, tx.index), PART(tx, tcpx_channel_record),
	AS("rx_cpu", FIELD_CPU, rx.incoming_cpu, .optional = true),
	AS("rx_napi", FIELD_INDEX, rx.napi_id, .optional = true),
	AS("tx_cpu", FIELD_CPU, tx.incoming_cpu, .optional = true),
	AS("tx_napi", FIELD_INDEX, tx.napi_id, .optional = true),
};
static const struct shape channel_shape = SHAPE(channel_fields);
#undef S

#define S struct row_thread
static const struct field thread_fields[] = {
	STRING(name), STRING(requested), STRING(granted), STRING(ran_on),
};
static const struct shape thread_shape = SHAPE(thread_fields);
#undef S

#define S struct row_stage
static const struct field stage_fields[] = {
	NUMBER(queue), NUMBER(wire), NUMBER(unpack), NUMBER(ack),
};
static const struct shape stage_shape = SHAPE(stage_fields);
#undef S

#define S struct row_bucket
static const struct field bucket_fields[] = { NUMBER(us), COUNT(count) };
static const struct shape bucket_shape = SHAPE(bucket_fields);
#undef S

#define S struct row
static const struct field row_fields[] = {
	COUNT(size), ONE_OF(op, ops), ONE_OF(dir, dirs), STRING(mem),
	MAYBE_STRING(peer_mem), COUNT1(descs),
	COUNT1(iters), COUNT(warmup), COUNT(nics), COUNT(channels), COUNT(chunk_bytes),
	COUNT(window), ONE_OF(dist, dists),
	OBJECT(time_us, time_shape), NUMBER(algbw_GBps), NUMBER(busbw_GBps),
	MAYBE(peer_algbw_GBps), MAYBE(transfers_per_s), BOOL(checked), COUNT(wrong), MAYBE(cpu_s_per_GB),
	MAYBE(client_cpu_s_per_GB), MAYBE(server_cpu_s_per_GB), MAYBE_STRING(congestion),
	MAYBE_STRING(baseline_congestion), MAYBE(baseline_GBps), MAYBE(baseline_cpu_s_per_GB),
	MAYBE(ratio),
	MAYBE_OBJECT(ratio_ci, interval_shape), LIST(pairs, pair_shape),
	MAYBE(path_GBps), MAYBE(path_1M_GBps), MAYBE(path_fraction),
	BOOL(degraded), OBJECT(in_flight, in_flight_shape), LIST(per_nic, nic_shape),
	MAYBE_LIST(nic_counters, row_nic_counters_shape), LIST(per_channel, channel_shape),
	LIST(threads, thread_shape),
	COUNT(ctxt_switches), OBJECT(stage_us, stage_shape),
	MAYBE_OBJECT(half_rtt_us, maybe_time_shape),
	MAYBE_OBJECT(baseline_half_rtt_us, percentile_shape), MAYBE_LIST(series, point_shape),
	LIST(histogram, bucket_shape),
	MAYBE(compared), MAYBE(baseline_compared), MAYBE(baseline_wrong),
	MAYBE_COUNT(depth), MAYBE_COUNT(lanes),
};
const struct shape row_shape = SHAPE(row_fields);
#undef S

#define S struct result_machine
static const struct field machine_fields[] = {
	STRING(host), STRING(kernel), STRING(cpu_model), COUNT1(cpus), COUNT(memory_bytes),
};
static const struct shape machine_shape = SHAPE(machine_fields);
#undef S

#define S struct result_gpu
static const struct field gpu_fields[] = {
	ONE_OF(side, sides), INDEX(gpu), STRING(name), STRING(pci), COUNT(memory_bytes),
};
static const struct shape gpu_shape = SHAPE(gpu_fields);
#undef S

#define S struct result_setting
static const struct field setting_fields[] = { TEXT(name), TEXT(value), TEXT(source) };
static const struct shape setting_shape = SHAPE(setting_fields);
#undef S

#define S struct result_env
static const struct field env_fields[] = { TEXT(name), TEXT(value) };
static const struct shape env_shape = SHAPE(env_fields);
#undef S

#define S struct result_place
static const struct field place_fields[] = {
	STRING(kind), STRING(name), STRING(pci), NUMA(numa), STRING(cpus),
};
static const struct shape place_shape = SHAPE(place_fields);
#undef S

#define S struct result_mesh_rank
static const struct field mesh_rank_fields[] = {
	INDEX(rank), STRING(host), INDEX(local_rank), STRING(mem),
};
static const struct shape mesh_rank_shape = SHAPE(mesh_rank_fields);
#undef S

#define S struct result_mesh_pair
static const struct field mesh_pair_fields[] = {
	INDEX(from), INDEX(to), INDEX(step), NUMBER(GBps), MAYBE(peer_GBps), MAYBE(p50_us),
	COUNT(iters), BOOL(checked), MAYBE(compared), BOOL(failed), COUNT(wrong),
};
const struct shape mesh_pair_shape = SHAPE(mesh_pair_fields);
#undef S

#define S struct result_mesh
static const struct field mesh_fields[] = {
	STRING(launcher), ONE_OF(plan, plans), ONE_OF(op, ops), ONE_OF(dir, dirs), COUNT(size),
	MAYBE(seconds), MAYBE(mean_GBps), MAYBE(median_GBps), MAYBE(worst_GBps), MAYBE(best_GBps),
	INDEX(worst_from), INDEX(worst_to), MAYBE(together_GBps), MAYBE(fairness),
	LIST(ranks, mesh_rank_shape), LIST(pairs, mesh_pair_shape),
};
const struct shape mesh_shape = SHAPE(mesh_fields);
#undef S

#define S struct result_stop
static const struct field stop_fields[] = {
	COUNT(size), STRING(code), STRING(cause), COUNT(sizes_done), COUNT(sizes_asked),
};
static const struct shape stop_shape = SHAPE(stop_fields);
#undef S

#define S struct result
static const struct field result_fields[] = {
	COUNT1(schema), STRING(started), STRING(version), TEXT(command), ONE_OF(role, roles),
	STRING(peer), OBJECT(machine, machine_shape), STRING(provider), MAYBE(setup_ms),
	NOTE(note), MAYBE_STRING(unpack), MAYBE_STRING(peer_unpack),
	MAYBE_STRING(placement), MAYBE_OBJECT(failed, stop_shape),
	MAYBE_OBJECT(interrupted, stop_shape),
	LIST(nics, tcpx_nic_record), MAYBE_LIST(gpus, gpu_shape), LIST(settings, setting_shape),
	LIST(topology, place_shape), LIST(env, env_shape), LIST(rows, row_shape),
	MAYBE_LIST(mesh, mesh_shape),
};
const struct shape result_shape = SHAPE(result_fields);
#undef S
