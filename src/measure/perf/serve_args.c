/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `tcpx serve`. */
#include "measure/perf/args.h"
#include "tool/tool.h"

#define S struct perf_args
static const struct opt serve_opts[] = {
	{ 'p', "port", "[ADDR:]PORT", "where to listen (28515; 0: any)", OPT_TEXT(port) },
	{ 0, "nics", "LIST", "NICs to use: eth0,eth1; prefixes; =exact; ^all but",
	  OPT_TEXT(nics) },
	{ 0, "ctrl", "NIC", "NIC or address for control besides --nics; no data goes over it",
	  PERF_SETTING(CTRL) },
	{ 0, "channels", "N", "connections in all, or N/nic for each NIC",
	  PERF_SETTING(CHANNELS) },
	{ 0, "chunk", "SIZE", "largest part that travels as one message", PERF_SETTING(CHUNK) },
	{ 0, "window", "N", "messages a channel may have outstanding", PERF_SETTING(WINDOW) },
	{ 0, "dist", "RULE", "who gets the next chunk: pull or rr (pull)", PERF_SETTING(DIST) },
	{ 0, "threads", "N", "I/O threads", PERF_SETTING(THREADS) },
	{ 0, "once", NULL, "end after the first client that measured; others are turned away "
	  "meanwhile", OPT_FLAG(once) },
	{ 0, "ready-fd", "FD", "when ready, write the engine's blob there",
	  OPT_INT(ready_fd, 0, 1 << 20) },
	{ 0, "mem", "PLACE", "memory for clients that do not say: host, cuda:N, cuda:0-3 (host)",
	  PERF_PLACE(mem) },
	{ 0, "unpack", "IMPL", "who copies to and from GPUs: kernel, d2d, host, none (kernel)",
	  PERF_SETTING_TOO(UNPACK_IMPL, unpack) },
	{ 0, "zerocopy", "MODE", "how staged payload leaves, and by this option that of host "
	  "memory: auto, off, splice, msg (auto)", PERF_SETTING_TOO(ZEROCOPY, zerocopy) },
	{ 0, "congestion", "NAME", "congestion control of channels (as the system has it, within "
	  "a host reno)", PERF_SETTING(CONGESTION) },
	{ 0, "provider", "P", "how bytes move: auto, sock, or tcpx, which ends with 3 where "
	  "there is no plugin (auto)", PERF_SETTING(PROVIDER) },
	{ 0, "any", NULL, "sockets where there is no plugin, and host memory where there is no "
	  "GPU, rather than an end with 3", OPT_FLAG(any) },
	{ 0, "label", "TEXT", "only clients that have the same --label", PERF_LABEL(label) },
	{ 0, "wait", "S", "seconds until one must have come; 0: for ever, or 10 after one was refused (0)",
	  OPT_NUMBER(wait_s, 0, 86400 * 7) },
	{ 0, "events", "FILE", "what happens, as it happens, a JSON object a line; -: to stdout, "
	  "and nothing else there", OPT_TEXT(events) },
};

static const struct opt_command serve_command = {
	.name = "tcpx serve",
	.words = "[OPTIONS]",
	.about = "The other side of `tcpx perf`, for any number of clients, until SIGINT or "
		 "SIGTERM. Whoever can reach the port can use memory and time of this machine.",
	.opts = serve_opts,
	.count = ARRAY_LEN(serve_opts),
};

int
serve_args_parse(struct perf_args *a, int argc, char **argv)
{
	struct opt_parser p;

	*a = (struct perf_args){ .ready_fd = -1, .timeout_s = 30 };
	if (!opt_read(&p, &serve_command, argc, argv, a))
		return p.exit ? p.exit : -1;
	if (a->wait_s && !a->once)
		return tool_usage(serve_command.name, "--wait is for --once");
	return opt_words(&p, 0);
}
