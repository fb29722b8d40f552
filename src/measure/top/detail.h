/* SPDX-License-Identifier: Apache-2.0 */
/* One engine on a screen: its NICs, GPUs, channels and threads. */
#ifndef MEASURE_TOP_DETAIL_H
#define MEASURE_TOP_DETAIL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

/* Lines for @columns; headings begin with '#', others with ' '. Idle channels are counted, and
 * with @idle listed. */
void top_detail(struct tcpx_text *t, const json_t *engine, unsigned columns, bool idle);

#endif
