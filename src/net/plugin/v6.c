/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v6: no device side, sizes are int. */
#define V 6
#include "net/plugin/version.h"
