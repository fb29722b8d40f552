/* SPDX-License-Identifier: Apache-2.0 */
/* NIXL's map of parameters as settings of ours. */
#ifndef NIXL_PARAMS_H
#define NIXL_PARAMS_H

#include <string>
#include <vector>

#include "nixl/abi.h"

/* What the plugin lists as its options under file name libplugin_@name.so. */
nixlabi::Params tcpx_nixl_options(const std::string &name);

/* "TCPX_CHUNK=1M" for each entry that is a setting. Other keys are warned of, once, unless they
 * come back as @listed. */
std::vector<std::string> tcpx_nixl_settings(const nixlabi::Params &params,
					    const nixlabi::Params &listed);

#endif
