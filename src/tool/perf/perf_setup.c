/* SPDX-License-Identifier: Apache-2.0 */
/* What both commands open with their options: settings, GPUs, the engine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/perf/perf_args.h"
#include "tool/tool.h"

/* The flags as the engine takes settings; @text holds what has to be made. */
struct settings {
	const char *list[PERF_SETTINGS + 4];
	size_t count;
	char nics[4096], port[32], gpu[16];
};

static void
collect(const struct perf_args *a, const char *nics, struct settings *s)
{
	s->count = 0;
	for (; s->count < a->setting_count; s->count++)
		s->list[s->count] = a->settings[s->count];
	if (nics) {
		snprintf(s->nics, sizeof(s->nics), "TCPX_NICS=%s", nics);
		s->list[s->count++] = s->nics;
	}
	/* a plugin's channels belong to the GPU whose memory is moved */
	if (a->mem.gpus && !getenv("TCPX_GPU")) {
		snprintf(s->gpu, sizeof(s->gpu), "TCPX_GPU=%d", a->mem.gpu[0]);
		s->list[s->count++] = s->gpu;
	}
	s->list[s->count] = NULL;
}

/* What a plugin for GPUDirect-TCPX must find in the environment to work at all, and what
 * keeps it from waiting inside a call; a user's own values win. */
static void
set_plugin_env(void)
{
	(void)setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 0);
	(void)setenv("NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT", "0", 0);
}

int
perf_load_settings(const struct perf_args *a, struct tcpx_cfg **cfg)
{
	struct settings s;

	collect(a, a->nics, &s);
	return tcpx_cfg_load_system(s.list, cfg);
}

int
perf_open_gpus(const struct perf_args *a, const char *command, const struct place *place,
	       struct gpus **gpus)
{
	struct gpus *g = NULL;
	struct tcpx_cfg *cfg;
	char text[256], where[PLACE_TEXT];
	int rc = perf_load_settings(a, &cfg);

	if (rc)
		return tool_fail(TOOL_USAGE, command, "a setting is refused: see above");
	rc = gpus_open(tcpx_cfg_str(cfg, TCPX_SET_CUDA_LIBRARY), &g);
	tcpx_cfg_free(cfg);
	if (!rc)
		rc = gpus_ready(g, place);
	if (!rc) {
		*gpus = g;
		return TOOL_OK;
	}
	tcpx_err_last(text, sizeof(text));
	rc = tool_fail(TOOL_DENIED, command, "%s cannot be used: %s", place_format(place, where),
		       g ? text : "no GPU driver here, or no GPU (tcpx info tells more)");
	gpus_close(g);
	return rc;
}

int
perf_open_engine(const struct perf_args *a, const char *listen, const char *nics,
		 tcpx_engine **engine)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct settings s;

	collect(a, nics, &s);
	if (listen && strspn(listen, "0123456789") == strlen(listen)) {
		snprintf(s.port, sizeof(s.port), "TCPX_PORT=%.16s", listen);
		s.list[s.count++] = s.port; /* on every NIC */
		s.list[s.count] = NULL;
	} else {
		opts.listen = listen;
	}
	opts.settings = s.list;
	set_plugin_env();
	return tcpx_open(&opts, engine);
}
