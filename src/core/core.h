/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's private headers in one. Locks, in the order they may nest:
 *
 *	loop.lease > session.lock > engine.lock > peer.lock > { regions.lock, notes.lock,
 *	engine.event_lock, loop.work_lock, batches.lock, gpus.small_lock, gpus.word_lock }
 *
 * Two of the last are never held together. gpus.lock is taken with none of them held. A channel's connection and its receive and
 * send state belong to whoever holds its loop's lease; everything else of a session is
 * guarded by session.lock, its control connection included.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "base/mutex.h"
#include "core/channel.h"
#include "core/engine.h"
#include "core/list.h"
#include "core/loop.h"
#include "core/note.h"
#include "core/peer.h"
#include "core/session.h"
#include "core/xfer.h"

#endif
