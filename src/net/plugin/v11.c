/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v11: contexts; the configuration moves to init(). */
#define V 11
#include "net/plugin/version.h"
