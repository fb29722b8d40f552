/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key that begins with TCPX_ is a setting, and beats environment and files. An empty value is no
 * value: NIXL's users pass back the map that the plugin listed. Other keys belong to
 * somebody else.
 */
#include "nixl/params.h"

#include <algorithm>

#include "nixl/say.h"

using namespace nixlabi;

static const char *const ours[] = { "TCPX_NICS", "TCPX_CTRL", "TCPX_CHANNELS", "TCPX_THREADS",
				    "TCPX_PORTS", "TCPX_ALLOW", "TCPX_SECRET_FILE",
				    "TCPX_CONNECT_MS", "TCPX_STALL_MS", "TCPX_DEBUG" };

/* What callers that know UCX alone expect to find, with UCX's defaults. */
static const char *const ucx[][2] = {
	{ "ucx_devices", "" },          { "num_workers", "1" },
	{ "num_threads", "0" },         { "split_batch_size", "1024" },
	{ "device_list", "" },          { "engine_config", "" },
	{ "ucx_num_device_channels", "4" }, { "ucx_error_handling_mode", "peer" },
};

Params
tcpx_nixl_options(const std::string &name)
{
	Params all;

	for (const char *key : ours)
		all.emplace(key, "");
	if (name == "UCX")
		for (const auto &option : ucx)
			all.emplace(option[0], option[1]);
	return all;
}

static void
warn(std::vector<std::string> &unknown)
{
	std::string text;

	std::sort(unknown.begin(), unknown.end());
	for (const std::string &key : unknown)
		text += " " + key;
	tcpx_nixl_warn("these parameters have no effect:%s", text.c_str());
}

std::vector<std::string>
tcpx_nixl_settings(const Params &params, const Params &listed)
{
	std::vector<std::string> settings, unknown;

	for (const auto &[key, value] : params) {
		auto same = listed.find(key);

		if (value.empty())
			continue;
		if (key.compare(0, 5, "TCPX_") == 0)
			settings.push_back(key + "=" + value);
		else if (same == listed.end() || same->second != value)
			unknown.push_back(key);
	}
	if (!unknown.empty())
		warn(unknown);
	return settings;
}
