/* SPDX-License-Identifier: Apache-2.0 */
/* Engine configuration: settings, NICs, and host/'s defaults for unset values. */
#ifndef CORE_ENGINE_OPTIONS_H
#define CORE_ENGINE_OPTIONS_H

#include "core/engine/engine.h"

/* The limits that follow from settings and provider alone. TCPX_ECONFIG: they contradict. */
int tcpx_engine_limits(struct tcpx_engine *e);
/* Chooses NICs by the setting, or a test's; then threads, channels and the time to spin. */
int tcpx_engine_nics(struct tcpx_engine *e, const struct engine_env *env);

#endif
