/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/twin.h"

bool
tcpx_twin_keeps_hello(bool smaller, enum tcpx_stage ours, bool known)
{
	return smaller && (ours == TCPX_STAGE_TALKS || ours == TCPX_STAGE_READY ||
			   (ours == TCPX_STAGE_OPEN && known));
}

bool
tcpx_twin_may_ask(enum tcpx_stage theirs)
{
	return theirs != TCPX_STAGE_OPEN;
}

bool
tcpx_twin_may_answer(bool smaller, enum tcpx_stage ours)
{
	return !smaller || ours < TCPX_STAGE_READY;
}

bool
tcpx_twin_gives_way(bool smaller, enum tcpx_stage ours, enum tcpx_stage theirs)
{
	return theirs == TCPX_STAGE_OPEN && ours < (smaller ? TCPX_STAGE_READY : TCPX_STAGE_OPEN);
}

enum tcpx_sisters
tcpx_sisters_judge(enum tcpx_stage ours, enum tcpx_stage sister, bool stands)
{
	if (ours >= TCPX_STAGE_READY || sister < TCPX_STAGE_TALKS)
		return TCPX_SISTERS_PART; /* the peer may have opened ours */
	return sister == TCPX_STAGE_OPEN && stands ? TCPX_SISTERS_JOIN : TCPX_SISTERS_WAIT;
}
