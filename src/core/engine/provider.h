/* SPDX-License-Identifier: Apache-2.0 */
/* The provider of an engine. */
#ifndef CORE_ENGINE_PROVIDER_H
#define CORE_ENGINE_PROVIDER_H

#include "core/engine/engine.h"

/* Chooses it by the setting, or takes a test's; nothing is opened. */
int tcpx_engine_provider(struct tcpx_engine *e, const struct engine_env *env);
/* Opens it. Its limits may be below the settings. */
int tcpx_engine_net(struct tcpx_engine *e, const struct engine_env *env);

#endif
