/* SPDX-License-Identifier: Apache-2.0 */
/* Common set-up of both commands: settings, GPUs, the engine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "net/plugin/plug.h"
#include "net/registry.h"
#include "measure/perf/args.h"
#include "measure/perf/port_holder.h"
#include "tool/tool.h"

/* The flags in the form of engine settings; @text holds the made ones. */
struct settings {
	const char *list[PERF_SETTINGS + 5];
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
	if (!getenv("TCPX_NARROW")) /* figures are of all channels, from the first byte on */
		s->list[s->count++] = "TCPX_NARROW=0";
	s->list[s->count] = NULL;
}

/* Sets what a plugin for GPUDirect-TCPX needs in the environment to work at all, and not to
 * wait inside a call. A user's own values win. */
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
		return tool_fail_last(TOOL_USAGE, command, "a setting is refused");
	rc = gpus_open(tcpx_cfg_str(cfg, TCPX_SET_CUDA_LIBRARY), &g);
	tcpx_cfg_free(cfg);
	if (!rc)
		rc = gpus_ready(g, place);
	if (!rc) {
		*gpus = g;
		return TOOL_OK;
	}
	tcpx_err_last(text, sizeof(text));
	rc = tool_fail(TOOL_DENIED, command, "%s cannot be used: %s%s", place_format(place, where),
		       g ? text : "no GPU driver here, or no GPU (tcpx info tells more)",
		       a->any ? ": host memory, by --any" : "; --any would take host memory");
	gpus_close(g);
	return rc;
}

static void
log_drop(void *arg, int level, const char *line)
{
}

/* Loads the plugin, which logs as the engine will; the caller reports a failure. */
static int
try_plugin(const struct tcpx_cfg *cfg)
{
	struct plug *plug = NULL;
	int rc = tcpx_log_setup(tcpx_cfg_str(cfg, TCPX_SET_DEBUG),
				tcpx_cfg_str(cfg, TCPX_SET_DEBUG_SUBSYS),
				tcpx_cfg_str(cfg, TCPX_SET_DEBUG_FILE));
	bool quiet = !rc && !tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_NET) &&
		     !tcpx_cfg_str(cfg, TCPX_SET_DEBUG_FILE)[0];

	if (rc)
		return rc;
	if (quiet)
		tcpx_log_sink(log_drop, NULL);
	set_plugin_env();
	rc = plug_open(tcpx_cfg_str(cfg, TCPX_SET_PLUGIN_PATH), &plug);
	plug_close(plug);
	if (quiet)
		tool_log_start();
	return rc;
}

/* The failure of a plugin that is asked for, in the library's words. TOOL_OK with --any: plain
 * sockets from now on. */
static int
go_without_plugin(struct perf_args *a, const char *command)
{
	char text[512];

	tcpx_err_last(text, sizeof(text));
	tool_fail(TOOL_DENIED, command, "no plugin can be used: %s%s", text,
		  a->any ? ": plain sockets, by --any" : "; --any would take plain sockets");
	if (!a->any)
		return TOOL_DENIED;
	if (a->setting_count == PERF_SETTINGS)
		return tool_fail(TOOL_USAGE, command, "too many settings");
	/* a later one counts */
	snprintf(a->settings[a->setting_count++], sizeof(a->settings[0]), "TCPX_PROVIDER=sock");
	return TOOL_OK;
}

/* Looks now for a plugin that is asked for: a failure has a code. */
static int
settle_provider(struct perf_args *a, const char *command)
{
	struct tcpx_cfg *cfg;
	int rc = perf_load_settings(a, &cfg);

	if (rc)
		return tool_fail_last(TOOL_USAGE, command, "a setting is refused");
	if (!strcmp(tcpx_net_name(tcpx_cfg_str(cfg, TCPX_SET_PROVIDER),
				  tcpx_cfg_str(cfg, TCPX_SET_PLUGIN_PATH)), "tcpx"))
		rc = try_plugin(cfg);
	tcpx_cfg_free(cfg);
	return rc ? go_without_plugin(a, command) : TOOL_OK;
}

int
perf_settle(struct perf_args *a, const char *command, struct gpus **gpus)
{
	int rc = TOOL_OK;

	*gpus = NULL;
	if (a->mem.gpus) /* before the plugin, which looks for a driver that is loaded */
		rc = perf_open_gpus(a, command, &a->mem, gpus);
	if (rc == TOOL_DENIED && a->any) {
		a->mem.gpus = 0;
		rc = TOOL_OK;
	}
	if (rc == TOOL_OK)
		rc = settle_provider(a, command);
	if (rc != TOOL_OK) {
		gpus_close(*gpus);
		*gpus = NULL;
	}
	return rc;
}

static int
open_engine(const struct perf_args *a, const char *listen, tcpx_engine **engine)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct settings s;

	collect(a, a->nics, &s);
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

/* The port of [ADDR:]PORT, or of TCPX_PORT where that is NULL; 0: none, or any. */
static uint16_t
port_of(const struct perf_args *a, const char *listen)
{
	const char *colon = listen ? strrchr(listen, ':') : NULL;
	uint64_t port = 0;
	struct tcpx_cfg *cfg;

	if (listen && tcpx_parse_count(colon ? colon + 1 : listen, &port))
		return 0;
	if (!listen && !perf_load_settings(a, &cfg)) {
		port = tcpx_cfg_num(cfg, TCPX_SET_PORT);
		tcpx_cfg_free(cfg);
	}
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* The library names address and port, and we who has it. */
static int
fail_taken(const struct perf_args *a, const char *command, const char *listen)
{
	uint16_t port = port_of(a, listen);
	char text[256], holder[160] = "";

	tcpx_err_last(text, sizeof(text));
	if (port)
		port_holder(port, holder, sizeof(holder));
	return tool_fail(TOOL_FINDING, command, "cannot start: %s%s%s", text,
			 holder[0] ? "; it is held by " : "", holder);
}

int
perf_open_engine(struct perf_args *a, const char *command, const char *listen,
		 tcpx_engine **engine)
{
	int rc = open_engine(a, listen, engine), code;

	if (rc == -ENOTSUP) {
		code = go_without_plugin(a, command);
		if (code != TOOL_OK)
			return code;
		rc = open_engine(a, listen, engine);
	}
	if (rc == -EADDRINUSE)
		return fail_taken(a, command, listen);
	return !rc ? TOOL_OK
		   : tool_fail_last(rc == TCPX_ECONFIG || rc == -ENODEV ? TOOL_USAGE : TOOL_FINDING,
				    command, "cannot start");
}
