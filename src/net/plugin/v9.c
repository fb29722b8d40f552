/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v9: messages of any size, with their limit. */
#define V 9
#include "net/plugin/version.h"
