/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of lanes: names that the application gives, by which an engine sums up what lanes have done.
 * An engine knows a fixed number of them; what they have counted is never lost, only merged.
 */
#ifndef CORE_TRANSFER_LABEL_H
#define CORE_TRANSFER_LABEL_H

#include "core/transfer/lane_state.h"

/* 0, or -EINVAL: no label. NULL is "". */
int tcpx_label_check(const char *text);
/* The lane's label from now on. The lock of its session, if it has one, and registry.lock held. */
void tcpx_label_give(struct tcpx_lane *l, const char *text);
/* The lane has none any more. Nobody else uses it, or as above. */
void tcpx_label_take(struct tcpx_lane *l);

#endif
