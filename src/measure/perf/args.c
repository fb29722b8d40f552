/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `tcpx perf`. Those that are engine settings are checked against the table of
 * settings, so that flag, variable and file allow the same.
 */
#include "measure/perf/args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/settings.h"
#include "base/text.h"
#include "measure/mesh/env.h"
#include "measure/perf/events.h"
#include "tool/tool.h"

static const char *const dirs[] = { "uni", "bi", NULL };

/* The row's place, which keeps the text as typed; NULL: it has none. */
static const char **
text_place(const struct opt_parser *p, int id)
{
	size_t at = p->cmd->opts[id].at;

	return at ? (const char **)((char *)p->args + at) : NULL;
}

int
perf_take_setting(const struct opt_parser *p, int id, void *args)
{
	struct perf_args *a = args;
	const struct tcpx_setting_def *def = tcpx_setting_at((enum tcpx_setting)p->cmd->opts[id].min);
	struct tcpx_setting_value value;
	char allowed[256];

	if (tcpx_setting_parse(def, p->value, &value))
		return opt_refuse(p, id, tcpx_setting_allowed(def, allowed, sizeof(allowed)));
	if (a->setting_count == PERF_SETTINGS || strlen(def->name) + strlen(p->value) > 120)
		return opt_refuse(p, id, "too many settings, or too long a value");
	snprintf(a->settings[a->setting_count++], sizeof(a->settings[0]), "%s=%s", def->name,
		 p->value);
	if (text_place(p, id))
		*text_place(p, id) = p->value;
	return TOOL_OK;
}

static int
take_place(const struct opt_parser *p, int id, struct place *place)
{
	return place_parse(p->value, place) ? opt_refuse(p, id, place_allowed) : TOOL_OK;
}

int
perf_take_place(const struct opt_parser *p, int id, void *args)
{
	return take_place(p, id, (struct place *)((char *)args + p->cmd->opts[id].at));
}

int
perf_take_label(const struct opt_parser *p, int id, void *args)
{
	const char *end = p->value;

	while (tcpx_text_shows(end))
		end += tcpx_text_shows(end);
	if (end == p->value || *end || end - p->value >= JOB_TEXT)
		return opt_refuse(p, id, "allowed are 1 to 63 bytes of printable text");
	*text_place(p, id) = p->value;
	return TOOL_OK;
}

static int
take_mem(const struct opt_parser *p, int id, void *args)
{
	struct perf_args *a = args;

	a->mem_local = !strcmp(p->value, "cuda:local");
	return a->mem_local ? TOOL_OK : take_place(p, id, &a->mem);
}

static int
take_peer_mem(const struct opt_parser *p, int id, void *args)
{
	struct perf_args *a = args;
	struct place place;

	a->peer_mem = p->value;
	return take_place(p, id, &place);
}

static int
take_rendezvous(const struct opt_parser *p, int id, void *args)
{
	struct perf_args *a = args;
	struct mesh_env env;

	a->rendezvous = p->value;
	return mesh_env_rendezvous(p->value, &env)
		? opt_refuse(p, id, "allowed is HOST, HOST:PORT or [IPv6]:PORT") : TOOL_OK;
}

/* "40000x8K": sets descs and the only size. */
static int
take_kv(const struct opt_parser *p, int id, void *args)
{
	struct perf_args *a = args;
	const char *x = strchr(p->value, 'x');
	char count_text[32] = "";
	uint64_t count, size;

	if (x && (size_t)(x - p->value) < sizeof(count_text))
		memcpy(count_text, p->value, (size_t)(x - p->value));
	if (!x || tcpx_parse_decimal(count_text, &count) ||
	    tcpx_parse_size(x + 1, &size) || !count || count > JOB_PIECES_MAX || !size ||
	    size > 1ull << 30)
		return opt_refuse(p, id, "allowed is COUNTxSIZE, 1 to 1000000 pieces of 1 to 1G");
	a->descs = count;
	a->begin = a->end = count * size;
	return TOOL_OK;
}

/* Takes 0 or 1; refuses a HOST, which other benchmarks take by -c. */
static int
take_check(const struct opt_parser *p, int id, void *args)
{
	if (strcmp(p->value, "0") && strcmp(p->value, "1"))
		return opt_refuse(p, id, "allowed are 0 and 1; HOST stands without an option");
	((struct perf_args *)args)->check = p->value[0] == '1';
	return TOOL_OK;
}

static int
take_interval(const struct opt_parser *p, int id, void *args)
{
	char *end;
	double s = strtod(p->value, &end);

	if (*end || end == p->value || !(s >= 0.1 && s <= 3600))
		return opt_refuse(p, id, "allowed are 0.1 to 3600 seconds");
	((struct perf_args *)args)->interval_ms = (uint64_t)(s * 1000 + 0.5);
	return TOOL_OK;
}

#define S struct perf_args
static const struct opt perf_opts[] = {
	{ 'b', "begin", "SIZE", "smallest transfer (64K; 64 with --lat)",
	  OPT_SIZE(begin, 0, 1ull << 40) },
	{ 'e', "end", "SIZE", "largest transfer (256M, or that of -b)",
	  OPT_SIZE(end, 0, 1ull << 40) },
	{ 'f', "factor", "N", "each size is N times the one before (4)",
	  OPT_NUMBER(factor, 2, 1024) },
	{ 0, "step", "SIZE", "each size is SIZE more than the one before",
	  OPT_SIZE(step, 1, 1ull << 40) },
	{ 'n', "iters", "N", "timed transfers of each size (what takes 0.25 s; with --baseline "
	  "0.1 s a run)", OPT_NUMBER(iters, 1, 1000000000) },
	{ 'w', "warmup", "N", "transfers before, not in any figure (5; with --duration 1)",
	  OPT_NUMBER(warmup, 0, 1000000) },
	{ 'c', "check", "0|1", "compare every byte, while the clock stands (1)", OPT_TAKE(take_check) },
	{ 0, "self", NULL, "both sides from this command, as two processes", OPT_FLAG(self) },
	{ 0, "op", "OP", "write, read, sendrecv or lane (write)", OPT_CHOICE(op, job_op_names) },
	{ 0, "dir", "DIR", "uni, or bi: both ways at once (uni)", OPT_CHOICE(bi, dirs) },
	{ 0, "nics", "LIST", "NICs to use: eth0,eth1; prefixes; =exact; ^all but",
	  OPT_TEXT(nics) },
	{ 0, "peer-nics", "LIST", "NICs of --self's other side (as --nics)",
	  OPT_TEXT(peer_nics) },
	{ 0, "channels", "N", "connections in all, or N/nic for each NIC",
	  PERF_SETTING(CHANNELS) },
	{ 0, "chunk", "SIZE", "largest part that travels as one message", PERF_SETTING(CHUNK) },
	{ 0, "window", "N", "messages a channel may have outstanding", PERF_SETTING(WINDOW) },
	{ 0, "dist", "RULE", "who gets the next chunk: pull or rr (pull)",
	  PERF_SETTING_TOO(DIST, dist) },
	{ 0, "threads", "N", "I/O threads of each side", PERF_SETTING(THREADS) },
	{ 0, "descs", "N", "cut the transfer in N scattered pieces (1)",
	  OPT_NUMBER(descs, 1, JOB_PIECES_MAX) },
	{ 0, "kv", "COUNTxSIZE", "one size only: COUNT scattered pieces of SIZE, as pages of a "
	  "key-value cache", OPT_TAKE(take_kv) },
	{ 0, "depth", "N", "transfers in flight at once (1; with several GPUs or lanes one each)",
	  OPT_NUMBER(depth, 1, JOB_DEPTH_MAX) },
	{ 0, "lanes", "N", "lanes each way, which take transfers in turn (1); with --op lane",
	  OPT_NUMBER(lanes, 1, JOB_LANES_MAX) },
	{ 0, "lat", NULL, "half round trip of a transfer with note, there and back",
	  OPT_FLAG(lat) },
	{ 0, "spin", NULL, "both applications test in a loop instead of waiting",
	  OPT_FLAG(spin) },
	{ 0, "duration", "S", "seconds for each size instead of -n",
	  OPT_NUMBER(duration_s, 1, 86400) },
	{ 'i', "interval", "S", "a line every S seconds of a size, 0.1 to 3600: what was moved and how "
	  "fast", OPT_TAKE(take_interval) },
	{ 0, "baseline", NULL, "compare with plain sockets, pair by pair; with --self --lat each "
	  "side's thread has its own CPU", OPT_FLAG(baseline) },
	{ 0, "pairs", "N", "pairs of that comparison (9)",
	  OPT_NUMBER(pairs, 1, 1000) },
	{ 0, "format", "F", "table, nccl, csv or json (table)",
	  OPT_CHOICE(format, out_format_names) },
	{ 0, "wide", NULL, "all columns that have a figure, however wide", OPT_FLAG(wide) },
	{ 'v', "verbose", NULL, "more below the rows: NICs, stages, cost, threads",
	  OPT_FLAG(verbose) },
	{ 0, "json", "FILE", "also write the result as JSON; -: to stdout, and nothing else "
	  "there", OPT_TEXT(json) },
	{ 0, "report", "FILE", "also write a report as HTML", OPT_TEXT(report) },
	{ 0, "timeout", "S", "a transfer that takes longer is stuck (30)",
	  OPT_NUMBER(timeout_s, 1, 86400) },
	{ 0, "mem", "PLACE", "memory of this side: host, cuda:N, or several GPUs, cuda:0-3, "
	  "which take transfers in turn (host)", OPT_TAKE(take_mem) },
	{ 0, "peer-mem", "PLACE", "memory of the other side, as --mem (host, or what `tcpx serve "
	  "--mem` says)", OPT_TAKE(take_peer_mem) },
	{ 0, "unpack", "IMPL", "who copies to and from GPUs, on both sides: kernel, d2d, host; "
	  "none spreads nothing: what unpacking costs, wrong data (kernel)",
	  PERF_SETTING_TOO(UNPACK_IMPL, unpack) },
	{ 0, "zerocopy", "MODE", "how staged payload leaves, and by this option that of host "
	  "memory, on both sides: auto, off, splice, msg (auto)",
	  PERF_SETTING_TOO(ZEROCOPY, zerocopy) },
	{ 0, "congestion", "NAME", "congestion control of channels, and of the baseline: cubic, "
	  "reno, ... (as the system has it, within a host reno)", PERF_SETTING(CONGESTION) },
	{ 0, "spoil", NULL, "change one byte before it is compared, to see it found",
	  OPT_FLAG(spoil) },
	{ 0, "mesh", NULL, "every rank with every other, one size (64M); with --from-env or "
	  "--ranks", OPT_FLAG(mesh) },
	{ 0, "from-env", NULL, "we are a rank of the job that torchrun, mpirun, srun or a "
	  "Kubernetes indexed Job has started", OPT_FLAG(from_env) },
	{ 0, "ranks", "N", "start so many ranks on this machine", OPT_NUMBER(ranks, 2, 64) },
	{ 0, "all-at-once", NULL, "all pairs at the same time (by turns: each rank in one pair "
	  "at a time)", OPT_FLAG(at_once) },
	{ 0, "rendezvous", "HOST[:PORT]", "where rank 0 listens (as the job's environment says; "
	  "port 28516)", OPT_TAKE(take_rendezvous) },
	{ 0, "peer-blob", "FILE", "what `tcpx serve --ready-fd` wrote, in place of HOST",
	  OPT_TEXT(peer_blob) },
	{ 0, "gate-fd", "FD", "before the timed run, write a byte there and wait for one",
	  OPT_INT(gate_fd, 0, 1 << 20) },
	{ 0, "beside", "N", "N more measurements share this machine's free memory (0)",
	  OPT_NUMBER(beside, 0, 1 << 20) },
	{ 0, "ctrl", "NIC", "NIC or address for control besides --nics; no data goes over it",
	  PERF_SETTING(CTRL) },
	{ 0, "provider", "P", "how bytes move: auto, sock, or tcpx, which ends with 3 where "
	  "there is no plugin (auto)", PERF_SETTING(PROVIDER) },
	{ 0, "any", NULL, "sockets where there is no plugin, and host memory where there is no "
	  "GPU, rather than an end with 3", OPT_FLAG(any) },
	{ 0, "each", NULL, "each transfer is timed and compared by itself", OPT_FLAG(each) },
	{ 0, "text", "TEXT", "each transfer begins with TEXT, which the server prints",
	  PERF_LABEL(text) },
	{ 0, "label", "TEXT", "only with a server that has the same --label", PERF_LABEL(label) },
	{ 0, "events", "FILE", "what happens, as it happens, a JSON object a line; -: to stdout, "
	  "and no table there", OPT_TEXT(events) },
};

/* Names of options in other benchmarks. */
static const char *const others[] = {
	"-P", "--channels", "--parallel", "--channels", "-t", "--duration", "--time", "--duration", "-R", "--op read",
	"--reverse", "--op read", "-s", "--begin (-b)", "--size", "--begin (-b)", "--bidir",
	"--dir bi", "--client", "HOST without an option", "-J", "--json -", NULL
};

static const struct opt_command perf_command = {
	.others = others,
	.name = "tcpx perf",
	.words = "[OPTIONS] --self | HOST[:PORT] | --mesh",
	.about = "Measures transfers between this process and `tcpx serve` at HOST, or with "
		 "--self between two processes of this machine. Bytes are compared; %compared says "
		 "how many, if not all.",
	.opts = perf_opts,
	.count = ARRAY_LEN(perf_opts),
	.examples = "  tcpx perf --self                          a sweep on this machine\n"
		    "  tcpx perf --self --baseline -b 64M        one size, beside plain sockets\n"
		    "  tcpx perf 10.0.0.2 --op read --dir bi     with `tcpx serve` there\n"
		    "  tcpx perf --self --kv 40000x8K            scattered pages\n"
		    "  tcpx perf --self --mem cuda:0 --peer-mem cuda:1 --baseline -b 64M\n"
		    "                                            from GPU to GPU\n"
		    "  tcpx perf --self --lat --baseline         small messages\n"
		    "  tcpx perf --mesh --ranks 4 --report mesh.html\n"
		    "  srun -N 8 tcpx perf --mesh --from-env --mem cuda:local --json mesh.json\n",
};

/* Every GPU of either side has work: the transfers in flight go to them in turn. */
static int
check_gpus(struct perf_args *a, const char *name)
{
	struct place peer = { 0 };
	uint64_t gpus;

	if (a->peer_mem)
		(void)place_parse(a->peer_mem, &peer); /* was accepted */
	gpus = a->mem.gpus > peer.gpus ? a->mem.gpus : peer.gpus;
	if (a->lat && gpus > 1)
		return tool_usage(name, "--lat measures one GPU of each side, not %" PRIu64, gpus);
	if (a->depth == UINT64_MAX)
		a->depth = gpus > a->lanes ? gpus : a->lanes;
	if (a->depth < gpus)
		return tool_usage(name, "--depth %" PRIu64 " leaves some of %" PRIu64 " GPUs without"
				  " work; allowed is %" PRIu64 " and more", a->depth, gpus, gpus);
	return TOOL_OK;
}

/* All ends are on this machine: the plainest path between them, unless another is named. */
static void
stay_here(struct perf_args *a)
{
	if (a->nics || getenv("TCPX_NICS"))
		return;
	a->nics = "lo";
	for (size_t i = 0; i < a->setting_count; i++)
		if (!strncmp(a->settings[i], "TCPX_CTRL=", 10))
			return;
	if (a->setting_count < PERF_SETTINGS)
		strcpy(a->settings[a->setting_count++], "TCPX_CTRL=");
}

/* A mesh has one size, and only figures that its measurements can send to rank 0. */
static int
check_mesh(struct perf_args *a, const char *name)
{
	if (!a->mesh && (a->from_env || a->ranks || a->at_once || a->rendezvous || a->mem_local))
		return tool_usage(name, "--from-env, --ranks, --all-at-once, --rendezvous and --mem"
				  " cuda:local are for --mesh");
	if (!a->mesh)
		return TOOL_OK;
	if (a->from_env == (a->ranks != 0))
		return tool_usage(name, "--mesh needs --from-env or --ranks N, one of them");
	if (a->rendezvous && a->ranks)
		return tool_usage(name, "--rendezvous is for --from-env");
	if (a->self || a->host || a->peer_blob || a->peer_mem || a->peer_nics || a->lat ||
	    a->baseline || a->format != OUT_TABLE)
		return tool_usage(name, "--mesh goes without HOST, --self, --peer-..., --lat, --baseline"
				  " and --format");
	if (a->end != UINT64_MAX && a->end != a->begin)
		return tool_usage(name, "--mesh measures one size: -b, without -e");
	a->begin = a->begin == UINT64_MAX ? 64 << 20 : a->begin;
	if (!a->iters && !a->duration_s)
		a->duration_s = 1;
	if (a->ranks)
		stay_here(a);
	return TOOL_OK;
}

/* Lanes carry messages of one piece, and a number of them at once. Each has work. */
static int
check_lane(const struct perf_args *a, const char *name)
{
	if (a->op == JOB_LANE && (a->descs > 1 || a->depth > job_depth_most(a->op)))
		return tool_usage(name, "--op lane moves one piece at a time, with a --depth of at most"
				  " %" PRIu64, job_depth_most(a->op));
	if (a->lanes > 1 && (a->op != JOB_LANE || a->lat || a->each))
		return tool_usage(name, "--lanes is for --op lane, without --lat and --each");
	if (a->depth < a->lanes)
		return tool_usage(name, "--depth %" PRIu64 " leaves some of %" PRIu64 " lanes without"
				  " work", a->depth, a->lanes);
	return TOOL_OK;
}

/* One transfer a run, each by itself. */
static int
check_each(const struct perf_args *a, const char *name)
{
	if (a->each && (a->depth > 1 || a->lat || a->baseline || a->duration_s || a->mesh))
		return tool_usage(name, "--each measures one transfer at a time, without --depth,"
				  " --lat, --baseline, --duration and --mesh");
	if (a->each && !a->iters)
		return tool_usage(name, "--each needs -n");
	if (a->text && (!a->each || a->descs > 1 || a->op == JOB_READ || a->bi ||
			strlen(a->text) >= a->begin))
		return tool_usage(name, "--text is for --each, one way from here, in one piece, and"
				  " shorter than a transfer");
	if (a->mesh && (a->label || a->events))
		return tool_usage(name, "--mesh goes without --label and --events");
	if (events_on_stdout(a->events) && a->json && !strcmp(a->json, "-"))
		return tool_usage(name, "--json - and --events - both want stdout");
	return TOOL_OK;
}

/* Checks that need several options. */
static int
check_perf_args(struct perf_args *a)
{
	const char *name = perf_command.name;
	uint64_t sizes[PERF_SIZES];

	if (!a->pairs)
		a->pairs = 9;
	if (check_mesh(a, name) != TOOL_OK)
		return TOOL_USAGE;
	if (a->host && a->peer_blob)
		return tool_usage(name, "HOST and --peer-blob are two peers");
	if (!a->mesh && a->self == (a->host || a->peer_blob))
		return tool_usage(name, a->self ? "--self has no HOST" : "HOST or --self is missing");
	if (a->self)
		stay_here(a);
	if (a->peer_nics && !a->self)
		return tool_usage(name, "--peer-nics is for --self; `tcpx serve` has --nics");
	if (a->json && !strcmp(a->json, "-") && (a->format == OUT_CSV || a->format == OUT_JSON))
		return tool_usage(name, "--json - and --format %s both want stdout; leave one out",
				  out_format_names[a->format]);
	if (a->lat && a->bi)
		return tool_usage(name, "--lat goes there and back already; leave out --dir bi");
	if (a->lat && ((a->depth > 1 && a->depth != UINT64_MAX) || a->descs > 1))
		return tool_usage(name, "--lat measures one piece at a time, without --depth,"
				  " --descs and --kv");
	if (check_gpus(a, name) != TOOL_OK || check_lane(a, name) != TOOL_OK)
		return TOOL_USAGE;
	if (a->spoil && !a->check)
		return tool_usage(name, "--spoil without a check: leave out -c 0");
	if (a->warmup == UINT64_MAX)
		a->warmup = a->duration_s ? 1 : 5;
	if (a->begin == UINT64_MAX && a->end == UINT64_MAX)
		a->end = a->lat ? 64 : 256ull << 20;
	if (a->begin == UINT64_MAX) {
		a->begin = a->lat ? 64 : 64ull << 10;
		if (a->begin > a->end)
			a->begin = a->end;
	}
	if (a->end == UINT64_MAX)
		a->end = a->begin;
	if (a->begin > a->end)
		return tool_usage(name, "--begin %" PRIu64 " is above --end %" PRIu64, a->begin,
				  a->end);
	if (a->descs > 1 && a->descs > a->begin)
		return tool_usage(name, "--descs %" PRIu64 ": a transfer of %" PRIu64
				  " bytes has fewer", a->descs, a->begin);
	if ((a->lat || a->baseline) && !a->begin)
		return tool_usage(name, "--lat and --baseline need at least 1 byte");
	if (check_each(a, name) != TOOL_OK)
		return TOOL_USAGE;
	if (perf_args_sizes(a, sizes) == PERF_SIZES)
		return tool_usage(name, "more than %d sizes; allowed is a larger --step",
				  PERF_SIZES - 1);
	return TOOL_OK;
}

int
perf_args_parse(struct perf_args *a, int argc, char **argv)
{
	struct opt_parser p;

	*a = (struct perf_args){ .begin = UINT64_MAX, .end = UINT64_MAX, .factor = 4, .warmup = UINT64_MAX,
				 .check = true, .depth = UINT64_MAX, .lanes = 1, .descs = 1,
				 .timeout_s = 30, .ready_fd = -1, .gate_fd = -1, .dist = "pull" };
	if (!opt_read(&p, &perf_command, argc, argv, a))
		return p.exit ? p.exit : -1;
	if (p.first_word < argc)
		a->host = argv[p.first_word];
	return opt_words(&p, 1) ? TOOL_USAGE : check_perf_args(a);
}

size_t
perf_args_sizes(const struct perf_args *a, uint64_t sizes[PERF_SIZES])
{
	size_t n = 0;

	for (uint64_t size = a->begin; size <= a->end && n < PERF_SIZES;) {
		sizes[n++] = size;
		size = a->step ? size + a->step : size ? size * a->factor : 1;
	}
	return n;
}
