/* SPDX-License-Identifier: Apache-2.0 */
/* plug_abi_v12 of abi.h, the plugin interface v12: as v11, with wider properties. */
#define V 12
#include "net/plugin/version.h"
