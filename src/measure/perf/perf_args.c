/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `tcpx perf`. Those that are engine settings are checked against the table of
 * settings, so that flag, variable and file allow the same.
 */
#include "measure/perf/perf_args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/settings.h"
#include "measure/mesh/mesh_env.h"
#include "measure/perf/perf_events.h"
#include "tool/tool.h"

enum {
	OPT_BEGIN, OPT_END_SIZE, OPT_FACTOR, OPT_STEP, OPT_ITERS, OPT_WARMUP, OPT_CHECK, OPT_SELF,
	OPT_OP, OPT_DIR, OPT_NICS, OPT_PEER_NICS, OPT_CHANNELS, OPT_CHUNK, OPT_WINDOW, OPT_DIST,
	OPT_THREADS, OPT_DESCS, OPT_KV, OPT_DEPTH, OPT_LAT, OPT_SPIN, OPT_DURATION, OPT_BASELINE,
	OPT_PAIRS, OPT_FORMAT, OPT_JSON, OPT_REPORT, OPT_TIMEOUT, OPT_MEM, OPT_PEER_MEM,
	OPT_UNPACK, OPT_UNPACK_ONLY, OPT_ZEROCOPY, OPT_SPOIL, OPT_MESH, OPT_FROM_ENV, OPT_RANKS,
	OPT_AT_ONCE, OPT_RENDEZVOUS, OPT_PEER_BLOB, OPT_GATE_FD, OPT_CTRL,
	OPT_PROVIDER, OPT_ANY, OPT_EACH, OPT_TEXT, OPT_LABEL, OPT_EVENTS
};

static const struct opt perf_opts[] = {
	[OPT_BEGIN] = { 'b', "begin", "SIZE", "smallest transfer (64K; 64 with --lat)" },
	[OPT_END_SIZE] = { 'e', "end", "SIZE", "largest transfer (256M, or that of -b)" },
	[OPT_FACTOR] = { 'f', "factor", "N", "each size is N times the one before (4)" },
	[OPT_STEP] = { 'i', "step", "SIZE", "each size is SIZE more than the one before" },
	[OPT_ITERS] = { 'n', "iters", "N", "timed transfers of each size (what takes 0.25 s;"
		       " with --baseline 0.1 s a run)" },
	[OPT_WARMUP] = { 'w', "warmup", "N",
			 "transfers before, not in any figure (5; with --duration 1)" },
	[OPT_CHECK] = { 'c', "check", "0|1", "compare every byte once a size, untimed (1)" },
	[OPT_SPOIL] = { 0, "spoil", NULL, "change one byte before it is compared, to see it found" },
	[OPT_SELF] = { 0, "self", NULL, "both sides from this command, as two processes" },
	[OPT_MEM] = { 0, "mem", "PLACE", "memory of this side: host, cuda:N, or several GPUs,"
		      " cuda:0-3, which take transfers in turn (host)" },
	[OPT_PEER_MEM] = { 0, "peer-mem", "PLACE", "memory of the other side, as --mem (host,"
			   " or what `tcpx serve --mem` says)" },
	[OPT_OP] = { 0, "op", "OP", "write, read or sendrecv (write)" },
	[OPT_DIR] = { 0, "dir", "DIR", "uni, or bi: both ways at once (uni)" },
	[OPT_NICS] = { 0, "nics", "LIST", "NICs to use: eth0,eth1; prefixes; =exact; ^all but" },
	[OPT_CTRL] = { 0, "ctrl", "NIC", "NIC or address for control besides --nics; no data goes"
		       " over it" },
	[OPT_PEER_NICS] = { 0, "peer-nics", "LIST", "NICs of --self's other side (as --nics)" },
	[OPT_CHANNELS] = { 0, "channels", "N", "connections in all, or N/nic for each NIC" },
	[OPT_CHUNK] = { 0, "chunk", "SIZE", "largest part that travels as one message" },
	[OPT_WINDOW] = { 0, "window", "N", "messages a channel may have outstanding" },
	[OPT_DIST] = { 0, "dist", "RULE", "who gets the next chunk: pull or rr (pull)" },
	[OPT_THREADS] = { 0, "threads", "N", "I/O threads of each side" },
	[OPT_UNPACK] = { 0, "unpack", "IMPL", "who copies to and from GPUs, on both sides: kernel,"
			 " d2d, host; none spreads nothing: what unpacking costs, wrong data (kernel)" },
	[OPT_UNPACK_ONLY] = { 0, "unpack-only", NULL, "measure only the copy kernels on the GPU of"
			      " --mem (cuda:0), without any network" },
	[OPT_ZEROCOPY] = { 0, "zerocopy", "MODE", "how staged payload leaves, on both sides: auto,"
			   " off, splice, msg (auto)" },
	[OPT_DESCS] = { 0, "descs", "N", "cut the transfer in N scattered pieces (1)" },
	[OPT_KV] = { 0, "kv", "COUNTxSIZE", "one size only: COUNT scattered pieces of SIZE, as"
		     " pages of a key-value cache" },
	[OPT_DEPTH] = { 0, "depth", "N", "transfers in flight at once (1; with several GPUs one each)" },
	[OPT_LAT] = { 0, "lat", NULL, "half round trip of a transfer with note, there and back" },
	[OPT_SPIN] = { 0, "spin", NULL, "both applications test in a loop instead of waiting" },
	[OPT_DURATION] = { 0, "duration", "S", "seconds for each size instead of -n" },
	[OPT_BASELINE] = { 0, "baseline", NULL, "compare with plain sockets, pair by"
			   " pair; with --self --lat each side's thread has its own CPU" },
	[OPT_PAIRS] = { 0, "pairs", "N", "pairs of that comparison (9), or of each of "
			"--unpack-only (11)" },
	[OPT_FORMAT] = { 0, "format", "F", "table, nccl, perftest, csv or json (table)" },
	[OPT_JSON] = { 0, "json", "FILE",
		       "also write the result as JSON; -: to stdout, and nothing else there" },
	[OPT_REPORT] = { 0, "report", "FILE", "also write a report as HTML" },
	[OPT_TIMEOUT] = { 0, "timeout", "S", "a transfer that takes longer is stuck (30)" },
	[OPT_MESH] = { 0, "mesh", NULL, "every rank with every other, one size (64M); with"
		       " --from-env or --ranks" },
	[OPT_FROM_ENV] = { 0, "from-env", NULL, "we are a rank of the job that torchrun, mpirun,"
			   " srun or a Kubernetes indexed Job has started" },
	[OPT_RANKS] = { 0, "ranks", "N", "start so many ranks on this machine" },
	[OPT_AT_ONCE] = { 0, "all-at-once", NULL, "all pairs at the same time (by turns: each rank"
			  " in one pair at a time)" },
	[OPT_RENDEZVOUS] = { 0, "rendezvous", "HOST[:PORT]", "where rank 0 listens (as the job's"
			     " environment says; port 28516)" },
	[OPT_PEER_BLOB] = { 0, "peer-blob", "FILE", "what `tcpx serve --ready-fd` wrote, in place of"
			    " HOST" },
	[OPT_PROVIDER] = { 0, "provider", "P", "how bytes move: auto, sock, or tcpx, which ends with 3"
			   " where there is no plugin (auto)" },
	[OPT_ANY] = { 0, "any", NULL, "sockets where there is no plugin, and host memory where there"
		      " is no GPU, rather than an end with 3" },
	[OPT_EACH] = { 0, "each", NULL, "each transfer is timed and compared by itself" },
	[OPT_TEXT] = { 0, "text", "TEXT", "each transfer begins with TEXT, which the server prints" },
	[OPT_LABEL] = { 0, "label", "TEXT", "only with a server that has the same --label" },
	[OPT_EVENTS] = { 0, "events", "FILE", "what happens, as it happens, a JSON object a line; -:"
			 " to stdout, and no table there" },
	[OPT_GATE_FD] = { 0, "gate-fd", "FD", "before the timed run, write a byte there and wait for"
			  " one" },
};

static const struct opt_command perf_command = {
	.name = "tcpx perf",
	.words = "[OPTIONS] --self | HOST[:PORT] | --mesh",
	.about = "Measures transfers between this process and `tcpx serve` at HOST, or with "
		 "--self between two processes of this machine. Every byte is checked.",
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

/* One option that is an engine setting. */
int
perf_take_setting(struct perf_args *a, const struct opt_parser *p, int id,
		  enum tcpx_setting setting)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(setting);
	struct tcpx_setting_value value;
	char allowed[256];

	if (tcpx_setting_parse(def, p->value, &value))
		return opt_refuse(p, id, tcpx_setting_allowed(def, allowed, sizeof(allowed)));
	if (a->setting_count == PERF_SETTINGS || strlen(def->name) + strlen(p->value) > 120)
		return opt_refuse(p, id, "too many settings, or too long a value");
	snprintf(a->settings[a->setting_count++], sizeof(a->settings[0]), "%s=%s", def->name,
		 p->value);
	return TOOL_OK;
}

int
perf_take_place(const struct opt_parser *p, int id, struct place *place)
{
	return place_parse(p->value, place) ? opt_refuse(p, id, place_allowed) : TOOL_OK;
}

int
perf_take_unpack(struct perf_args *a, const struct opt_parser *p, int id)
{
	a->unpack = p->value;
	return perf_take_setting(a, p, id, TCPX_SET_UNPACK_IMPL);
}

int
perf_take_text(const struct opt_parser *p, int id, const char **text)
{
	if (!p->value[0] || strlen(p->value) >= JOB_TEXT)
		return opt_refuse(p, id, "allowed are 1 to 63 characters");
	*text = p->value;
	return TOOL_OK;
}

/* "40000x8K": sets descs and the only size. */
static int
take_kv(struct perf_args *a, const struct opt_parser *p)
{
	const char *x = strchr(p->value, 'x');
	char count_text[32] = "";
	uint64_t count, size;

	if (x && (size_t)(x - p->value) < sizeof(count_text))
		memcpy(count_text, p->value, (size_t)(x - p->value));
	if (!x || tcpx_parse_decimal(count_text, &count) ||
	    tcpx_parse_size(x + 1, &size) || !count || count > 1000000 || !size ||
	    size > 1ull << 30)
		return opt_refuse(p, OPT_KV, "allowed is COUNTxSIZE, 1 to 1000000 pieces of 1 to 1G");
	a->descs = count;
	a->begin = a->end = count * size;
	return TOOL_OK;
}

static int
take_mesh_option(struct perf_args *a, const struct opt_parser *p, int id)
{
	struct mesh_env env;
	uint64_t fd;
	int rc;

	switch (id) {
	case OPT_MESH: a->mesh = true; return TOOL_OK;
	case OPT_FROM_ENV: a->from_env = true; return TOOL_OK;
	case OPT_RANKS: return opt_number(p, id, 2, 64, &a->ranks);
	case OPT_AT_ONCE: a->at_once = true; return TOOL_OK;
	case OPT_RENDEZVOUS:
		a->rendezvous = p->value;
		return mesh_env_rendezvous(p->value, &env)
			? opt_refuse(p, id, "allowed is HOST, HOST:PORT or [IPv6]:PORT")
			: TOOL_OK;
	case OPT_PEER_BLOB: a->peer_blob = p->value; return TOOL_OK;
	case OPT_GATE_FD:
		rc = opt_number(p, id, 0, 1 << 20, &fd);
		if (rc == TOOL_OK)
			a->gate_fd = (int)fd;
		return rc;
	default: return TOOL_USAGE;
	}
}

static int
take_perf_option(struct perf_args *a, const struct opt_parser *p, int id)
{
	static const char *const dirs[] = { "uni", "bi", NULL };
	uint64_t check = a->check;
	struct place place;
	int word = 0, rc;

	switch (id) {
	case OPT_BEGIN: return opt_size(p, id, 0, 1ull << 40, &a->begin);
	case OPT_END_SIZE: return opt_size(p, id, 0, 1ull << 40, &a->end);
	case OPT_FACTOR: return opt_number(p, id, 2, 1024, &a->factor);
	case OPT_STEP: return opt_size(p, id, 1, 1ull << 40, &a->step);
	case OPT_ITERS: return opt_number(p, id, 1, 1000000000, &a->iters);
	case OPT_WARMUP: return opt_number(p, id, 0, 1000000, &a->warmup);
	case OPT_CHECK:
		rc = opt_number(p, id, 0, 1, &check);
		a->check = check;
		return rc;
	case OPT_SPOIL: a->spoil = true; return TOOL_OK;
	case OPT_MEM:
		a->mem_local = !strcmp(p->value, "cuda:local");
		return a->mem_local ? TOOL_OK : perf_take_place(p, id, &a->mem);
	case OPT_PEER_MEM:
		a->peer_mem = p->value;
		return perf_take_place(p, id, &place);
	case OPT_UNPACK: return perf_take_unpack(a, p, id);
	case OPT_UNPACK_ONLY: a->unpack_only = true; return TOOL_OK;
	case OPT_ZEROCOPY: return perf_take_setting(a, p, id, TCPX_SET_ZEROCOPY);
	case OPT_SELF: a->self = true; return TOOL_OK;
	case OPT_OP:
		rc = opt_choice(p, id, job_op_names, &word);
		a->op = (enum job_op)word;
		return rc;
	case OPT_DIR:
		rc = opt_choice(p, id, dirs, &word);
		a->bi = word == 1;
		return rc;
	case OPT_NICS: a->nics = p->value; return TOOL_OK;
	case OPT_CTRL: return perf_take_setting(a, p, id, TCPX_SET_CTRL);
	case OPT_PEER_NICS: a->peer_nics = p->value; return TOOL_OK;
	case OPT_CHANNELS: return perf_take_setting(a, p, id, TCPX_SET_CHANNELS);
	case OPT_CHUNK: return perf_take_setting(a, p, id, TCPX_SET_CHUNK);
	case OPT_WINDOW: return perf_take_setting(a, p, id, TCPX_SET_WINDOW);
	case OPT_DIST: a->dist = p->value; return perf_take_setting(a, p, id, TCPX_SET_DIST);
	case OPT_THREADS: return perf_take_setting(a, p, id, TCPX_SET_THREADS);
	case OPT_DESCS: return opt_number(p, id, 1, 1000000, &a->descs);
	case OPT_KV: return take_kv(a, p);
	case OPT_PROVIDER: return perf_take_setting(a, p, id, TCPX_SET_PROVIDER);
	case OPT_ANY: a->any = true; return TOOL_OK;
	case OPT_EACH: a->each = true; return TOOL_OK;
	case OPT_TEXT: return perf_take_text(p, id, &a->text);
	case OPT_LABEL: return perf_take_text(p, id, &a->label);
	case OPT_EVENTS: a->events = p->value; return TOOL_OK;
	case OPT_DEPTH: return opt_number(p, id, 1, JOB_DEPTH_MAX, &a->depth);
	case OPT_LAT: a->lat = true; return TOOL_OK;
	case OPT_SPIN: a->spin = true; return TOOL_OK;
	case OPT_DURATION: return opt_number(p, id, 1, 86400, &a->duration_s);
	case OPT_BASELINE: a->baseline = true; return TOOL_OK;
	case OPT_PAIRS: return opt_number(p, id, 1, 1000, &a->pairs);
	case OPT_FORMAT:
		return out_format_parse(p->value, &a->format)
			? opt_refuse(p, id, "allowed are table, nccl, perftest, csv, json")
			: TOOL_OK;
	case OPT_JSON: a->json = p->value; return TOOL_OK;
	case OPT_REPORT: a->report = p->value; return TOOL_OK;
	case OPT_TIMEOUT: return opt_number(p, id, 1, 86400, &a->timeout_s);
	default: return take_mesh_option(a, p, id);
	}
}

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
		a->depth = gpus > 1 ? gpus : 1;
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
	    a->baseline || a->unpack_only || a->format != OUT_TABLE)
		return tool_usage(name, "--mesh goes without HOST, --self, --peer-..., --lat, --baseline,"
				  " --unpack-only and --format");
	if (a->end != UINT64_MAX && a->end != a->begin)
		return tool_usage(name, "--mesh measures one size: -b, without -e");
	a->begin = a->begin == UINT64_MAX ? 64 << 20 : a->begin;
	if (!a->iters && !a->duration_s)
		a->duration_s = 1;
	if (a->ranks)
		stay_here(a);
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
		a->pairs = a->unpack_only ? 11 : 9;
	if (a->unpack_only) {
		if (a->self || a->host || a->mem.gpus > 1)
			return tool_usage(name, "--unpack-only has no other side, and one GPU");
		a->self = true;
	}
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
				  a->format == OUT_CSV ? "csv" : "json");
	if (a->lat && a->bi)
		return tool_usage(name, "--lat goes there and back already; leave out --dir bi");
	if (a->lat && ((a->depth > 1 && a->depth != UINT64_MAX) || a->descs > 1))
		return tool_usage(name, "--lat measures one piece at a time, without --depth,"
				  " --descs and --kv");
	if (check_gpus(a, name) != TOOL_OK)
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
	int id, rc = TOOL_OK;

	*a = (struct perf_args){ .begin = UINT64_MAX, .end = UINT64_MAX, .factor = 4, .warmup = UINT64_MAX,
				 .check = true, .depth = UINT64_MAX, .descs = 1,
				 .timeout_s = 30, .ready_fd = -1, .gate_fd = -1, .dist = "pull" };
	opt_init(&p, &perf_command, argc, argv);
	while (rc == TOOL_OK && (id = opt_next(&p)) >= 0)
		rc = take_perf_option(a, &p, id);
	if (rc != TOOL_OK)
		return rc;
	if (id == OPT_HELP)
		return -1;
	if (id == OPT_BAD)
		return TOOL_USAGE;
	if (p.first_word < argc)
		a->host = argv[p.first_word];
	if (p.first_word + 1 < argc)
		return tool_usage(perf_command.name, "'%s' is one word too many",
				  argv[p.first_word + 1]);
	return check_perf_args(a);
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
