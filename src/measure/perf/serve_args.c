/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `tcpx serve`. */
#include "measure/perf/perf_args.h"
#include "tool/tool.h"

enum {
	SERVE_PORT, SERVE_NICS, SERVE_CTRL, SERVE_CHANNELS, SERVE_CHUNK, SERVE_WINDOW, SERVE_DIST,
	SERVE_THREADS, SERVE_ONCE, SERVE_READY_FD, SERVE_MEM, SERVE_UNPACK, SERVE_ZEROCOPY,
	SERVE_PROVIDER, SERVE_ANY, SERVE_LABEL, SERVE_WAIT, SERVE_EVENTS
};

static const struct opt serve_opts[] = {
	[SERVE_PORT] = { 'p', "port", "[ADDR:]PORT", "where to listen (28515; 0: any)" },
	[SERVE_NICS] = { 0, "nics", "LIST", "NICs to use: eth0,eth1; prefixes; =exact; ^all but" },
	[SERVE_CTRL] = { 0, "ctrl", "NIC", "NIC or address for control besides --nics; no data goes"
			 " over it" },
	[SERVE_CHANNELS] = { 0, "channels", "N", "connections in all, or N/nic for each NIC" },
	[SERVE_CHUNK] = { 0, "chunk", "SIZE", "largest part that travels as one message" },
	[SERVE_WINDOW] = { 0, "window", "N", "messages a channel may have outstanding" },
	[SERVE_DIST] = { 0, "dist", "RULE", "who gets the next chunk: pull or rr (pull)" },
	[SERVE_THREADS] = { 0, "threads", "N", "I/O threads" },
	[SERVE_MEM] = { 0, "mem", "PLACE", "memory for clients that do not say: host, cuda:N,"
			" cuda:0-3 (host)" },
	[SERVE_UNPACK] = { 0, "unpack", "IMPL", "who copies to and from GPUs: kernel, d2d, host,"
			   " none (kernel)" },
	[SERVE_ZEROCOPY] = { 0, "zerocopy", "MODE", "how staged payload leaves: auto, off, splice,"
			     " msg (auto)" },
	[SERVE_PROVIDER] = { 0, "provider", "P", "how bytes move: auto, sock, or tcpx, which ends with"
			     " 3 where there is no plugin (auto)" },
	[SERVE_ANY] = { 0, "any", NULL, "sockets where there is no plugin, and host memory where there"
			" is no GPU, rather than an end with 3" },
	[SERVE_LABEL] = { 0, "label", "TEXT", "only clients that have the same --label" },
	[SERVE_ONCE] = { 0, "once", NULL, "end after the first client that measured; others are turned"
			 " away meanwhile" },
	[SERVE_WAIT] = { 0, "wait", "S", "seconds until one must have come; 0: for ever (0)" },
	[SERVE_EVENTS] = { 0, "events", "FILE", "what happens, as it happens, a JSON object a line; -:"
			   " to stdout, and nothing else there" },
	[SERVE_READY_FD] = { 0, "ready-fd", "FD", "when ready, write the engine's blob there" },
};

static const struct opt_command serve_command = {
	.name = "tcpx serve",
	.words = "[OPTIONS]",
	.about = "The other side of `tcpx perf`, for any number of clients, until SIGINT or "
		 "SIGTERM. Whoever can reach the port can use memory and time of this machine.",
	.opts = serve_opts,
	.count = ARRAY_LEN(serve_opts),
};

static int
take_serve_option(struct perf_args *a, const struct opt_parser *p, int id)
{
	uint64_t fd;
	int rc;

	switch (id) {
	case SERVE_PORT: a->port = p->value; return TOOL_OK;
	case SERVE_NICS: a->nics = p->value; return TOOL_OK;
	case SERVE_CTRL: return perf_take_setting(a, p, id, TCPX_SET_CTRL);
	case SERVE_CHANNELS: return perf_take_setting(a, p, id, TCPX_SET_CHANNELS);
	case SERVE_CHUNK: return perf_take_setting(a, p, id, TCPX_SET_CHUNK);
	case SERVE_WINDOW: return perf_take_setting(a, p, id, TCPX_SET_WINDOW);
	case SERVE_DIST: return perf_take_setting(a, p, id, TCPX_SET_DIST);
	case SERVE_THREADS: return perf_take_setting(a, p, id, TCPX_SET_THREADS);
	case SERVE_MEM: return perf_take_place(p, id, &a->mem);
	case SERVE_UNPACK: return perf_take_unpack(a, p, id);
	case SERVE_ZEROCOPY: return perf_take_setting(a, p, id, TCPX_SET_ZEROCOPY);
	case SERVE_PROVIDER: return perf_take_setting(a, p, id, TCPX_SET_PROVIDER);
	case SERVE_ANY: a->any = true; return TOOL_OK;
	case SERVE_LABEL: return perf_take_text(p, id, &a->label);
	case SERVE_WAIT: return opt_number(p, id, 0, 86400 * 7, &a->wait_s);
	case SERVE_EVENTS: a->events = p->value; return TOOL_OK;
	case SERVE_ONCE: a->once = true; return TOOL_OK;
	case SERVE_READY_FD:
		rc = opt_number(p, id, 0, 1 << 20, &fd);
		if (rc == TOOL_OK)
			a->ready_fd = (int)fd;
		return rc;
	default: return TOOL_USAGE;
	}
}

int
serve_args_parse(struct perf_args *a, int argc, char **argv)
{
	struct opt_parser p;
	int id, rc = TOOL_OK;

	*a = (struct perf_args){ .ready_fd = -1, .timeout_s = 30 };
	opt_init(&p, &serve_command, argc, argv);
	while (rc == TOOL_OK && (id = opt_next(&p)) >= 0)
		rc = take_serve_option(a, &p, id);
	if (rc != TOOL_OK)
		return rc;
	if (id == OPT_HELP)
		return -1;
	if (id == OPT_BAD)
		return TOOL_USAGE;
	if (a->wait_s && !a->once)
		return tool_usage(serve_command.name, "--wait is for --once");
	if (p.first_word < argc)
		return tool_usage(serve_command.name, "'%s' is one word too many",
				  argv[p.first_word]);
	return TOOL_OK;
}
