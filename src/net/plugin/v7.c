/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v7: the device side of unpacking plugins; sizes are int. */
#define V 7
#include "net/plugin/version.h"
