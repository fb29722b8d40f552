/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v10: a configuration for each connect(), events for a profiler. */
#define V 10
#include "net/plugin/version.h"
