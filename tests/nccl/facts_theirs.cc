/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's headers are C++. */
#include "plugin/nccl_net.h"
#include "plugin/nccl_tuner.h"

#include "facts.h"

#define PROPS(v, theirs, ours)  ROW("properties " #v " " #theirs, ncclNetProperties_##v##_t, theirs)
#define TABLE(v, theirs, ours)  ROW("table " #v " " #theirs, ncclNet_##v##_t, theirs)
#define SIZES(v)                { "properties " #v, sizeof(ncclNetProperties_##v##_t) }, \
				{ "table " #v, sizeof(ncclNet_##v##_t) }
#define HANDLE(theirs, ours)    ROW("device handle " #theirs, ncclNetDeviceHandle_v12_t, theirs)
#define TUNER(theirs, ours)     ROW("tuner v5 " #theirs, ncclTuner_v5_t, theirs)
#define TUNER_BYTES             sizeof(ncclTuner_v5_t)
#define VALUE(theirs, ours)     { #theirs, (size_t)(theirs) }
#define FACTS                   their_facts
#define FACTS_COUNT             their_facts_count

#include "facts.inc"
