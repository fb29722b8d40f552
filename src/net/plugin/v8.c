/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v8: regions of any size; messages are int still. */
#define V 8
#include "net/plugin/version.h"
