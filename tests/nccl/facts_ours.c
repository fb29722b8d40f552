/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "nccl/tuner.h"
#include "net/plugin/nccl_net.h"

#define nccl_props_v10 nccl_props_v9
#define PROPS(v, theirs, ours)  ROW("properties " #v " " #theirs, struct nccl_props_##v, ours)
#define TABLE(v, theirs, ours)  ROW("table " #v " " #theirs, struct nccl_net_##v, ours)
#define SIZES(v)                { "properties " #v, sizeof(struct nccl_props_##v) }, \
				{ "table " #v, sizeof(struct nccl_net_##v) }
#define HANDLE(theirs, ours)    ROW("device handle " #theirs, struct nccl_device_handle, ours)
#define TUNER(theirs, ours)     ROW("tuner v5 " #theirs, struct nccl_tuner_v5, ours)
#define TUNER_BYTES             sizeof(struct nccl_tuner_v5)
#define VALUE(theirs, ours)     { #theirs, (size_t)(ours) }
#define FACTS                   our_facts
#define FACTS_COUNT             our_facts_count

#include "facts.inc"
