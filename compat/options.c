/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, options and variables of a run. The command line beats the environment, that the
 * program's own defaults. Nothing here looks at the machine.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"

enum { OPT_PORT = 1, OPT_SIZE, OPT_ITERS, OPT_CHUNK, OPT_CHANNELS, OPT_WINDOW, OPT_TIMEOUT,
       OPT_HOST, OPT_SKIP, OPT_VERBOSE, OPT_LOG, OPT_HELP };

static const struct option options[] = {
	{ "port", required_argument, NULL, OPT_PORT },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "chunk", required_argument, NULL, OPT_CHUNK },
	{ "channels", required_argument, NULL, OPT_CHANNELS },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "host-recv", no_argument, NULL, OPT_HOST },
	{ "skip-warmup", no_argument, NULL, OPT_SKIP },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

void
run_help(const struct program *p, FILE *f)
{
	const char *gpu = p->gpu_word ? " <gpu>" : " [gpu]";

	fprintf(f,
		"usage: %s [OPTIONS] server%s | client <ip> [gpu]\n\n%s\n\n"
		"  --port N        port of the server%s (%u)\n"
		"  --size SIZE     bytes of an iteration, at most 256M (UCCL_TCPX_PERF_SIZE)\n"
		"  --iters N       timed iterations (UCCL_TCPX_PERF_ITERS)\n"
		"  --chunk SIZE    bytes of a message (UCCL_TCPX_CHUNK_BYTES)\n"
		"  --channels N    connections (UCCL_TCPX_NUM_CHANNELS)\n"
		"  --window N      messages in flight (UCCL_TCPX_MAX_SEND_INFLIGHT 12,\n"
		"                  UCCL_TCPX_MAX_RECV_INFLIGHT 16)\n"
		"  --timeout S     a message that takes longer is lost (30)\n"
		"  --host-recv     memory of the host, not of the GPU (UCCL_TCPX_HOST_RECV_DEBUG)\n"
		"  --skip-warmup   no iteration before the timed ones (UCCL_TCPX_SKIP_WARMUP)\n"
		"  --verbose       a line for each message (UCCL_TCPX_VERBOSE)\n"
		"  --log FILE      lines go there, %%g is the GPU (stdout)\n\n"
		"<gpu> may be several, 0-7 or 0,2: one run for each, at once, in this process.\n"
		"The server ends with its first client. Other settings: tcpx info --config.\n",
		p->name, gpu, p->about, p->port_by_gpu ? " for GPU 0, one more for the next" : "",
		p->port);
}

bool
size_parse(const char *text, uint64_t *bytes)
{
	static const char suffix[] = "KMG";
	const char *found;
	uint64_t v;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || v > 1ull << 40)
		return false;
	found = *end ? strchr(suffix, *end & ~0x20) : NULL;
	if (found) {
		v <<= 10 * (found - suffix + 1);
		end++;
	}
	if (*end)
		return false;
	*bytes = v;
	return true;
}

static int
refuse(const struct run *r, const char *what, const char *text, const char *allowed)
{
	fprintf(stderr, "%s: %s '%s': allowed is %s\n", r->program->name, what, text, allowed);
	return EXIT_USAGE;
}

static int
take(const struct run *r, const char *what, const char *text, uint64_t min, uint64_t max,
     uint64_t *out)
{
	char allowed[64];
	uint64_t v;

	snprintf(allowed, sizeof(allowed), "%llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	if (!size_parse(text, &v) || v < min || v > max)
		return refuse(r, what, text, allowed);
	*out = v;
	return 0;
}

/* "3", "0-7", "0,2,5-6". */
static int
take_gpus(struct run *r, const char *text)
{
	const char *at = text;

	r->gpus = 0;
	for (;;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*at < '0' || *at > '9')
			break;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < 1024 && r->gpus < GPUS_MAX; first++)
			r->gpu[r->gpus++] = (unsigned)first;
		if (first <= last || (*end && *end != ','))
			break;
		if (!*end)
			return r->gpus ? 0 : EXIT_USAGE;
		at = end + 1;
	}
	return refuse(r, "GPU", text, "a number, a range 0-7, or some of them between commas");
}

/* The first of @names (NULL-terminated) that is set. */
static int
take_env(struct run *r, const char *const *names, uint64_t min, uint64_t max, env_fn env,
	 void *arg, uint64_t *out)
{
	const char *text = NULL;

	while (*names && (!(text = env(arg, *names)) || !*text))
		names++;
	return *names ? take(r, *names, text, min, max, out) : 0;
}

static bool
is_on(const char *text)
{
	return text && *text && strcmp(text, "0");
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int
read_env(struct run *r, env_fn env, void *arg)
{
	const struct program *p = r->program;
	const char *device = NULL;
	int rc = 0;

	if (p->port_by_gpu)
		rc = take_env(r, NAMES("UCCL_TCPX_BOOTSTRAP_PORT_BASE", "UCCL_TCPX_PORT_BASE",
				       "UCCL_TCPX_BOOTSTRAP_PORT"), 1, 65535, env, arg, &r->port);
	else
		rc = take_env(r, NAMES("UCCL_TCPX_BOOTSTRAP_PORT"), 1, 65535, env, arg, &r->port);
	if (!rc && p->text)
		rc = take_env(r, NAMES("UCCL_TCPX_PAYLOAD_BYTES"), 1, PERF_BYTES_MAX, env, arg,
			      &r->size);
	if (!rc && !p->text)
		rc = take_env(r, NAMES("UCCL_TCPX_PERF_SIZE"), 1, PERF_BYTES_MAX, env, arg,
			      &r->size);
	if (!rc && !p->text)
		rc = take_env(r, NAMES("UCCL_TCPX_PERF_ITERS"), 1, 100000, env, arg, &r->iters);
	if (!rc)
		rc = take_env(r, NAMES("UCCL_TCPX_CHUNK_BYTES", "NCCL_P2P_NET_CHUNKSIZE"), 65536,
			      16 << 20, env, arg, &r->chunk);
	if (!rc)
		rc = take_env(r, NAMES("UCCL_TCPX_NUM_CHANNELS"), 1, 256, env, arg, &r->channels);
	if (!rc)
		rc = take_env(r, NAMES("UCCL_TCPX_MAX_SEND_INFLIGHT"), 1, SENDS_MAX, env, arg,
			      &r->sends);
	if (!rc)
		rc = take_env(r, NAMES("UCCL_TCPX_MAX_RECV_INFLIGHT", "UCCL_TCPX_WINDOW_SIZE"), 1,
			      SENDS_MAX, env, arg, &r->receives);
	for (const char *const *name = NAMES("UCCL_TCPX_LOCAL_DEVICE", "UCCL_TCPX_DEVICE_IDX",
					     "UCCL_NCCL_DEVICE"); !rc && *name && !device; name++)
		if ((device = env(arg, *name)) && *device)
			rc = take_gpus(r, device);
	r->impl = env(arg, "UCCL_TCPX_UNPACK_IMPL");
	if (!r->impl || !*r->impl)
		r->impl = env(arg, "TCPX_UNPACK_IMPL");
	r->host_only = is_on(env(arg, "UCCL_TCPX_HOST_RECV_DEBUG"));
	r->warm_up = !is_on(env(arg, "UCCL_TCPX_SKIP_WARMUP"));
	r->verbose = is_on(env(arg, "UCCL_TCPX_VERBOSE")) || is_on(env(arg, "UCCL_TCPX_DEBUG")) ||
		     is_on(env(arg, "TCPX_PERF"));
	return rc;
}

static int
take_option(struct run *r, int id, const char *text)
{
	int rc;

	switch (id) {
	case OPT_PORT: return take(r, "--port", text, 1, 65535, &r->port);
	case OPT_SIZE: return take(r, "--size", text, 1, PERF_BYTES_MAX, &r->size);
	case OPT_ITERS: return take(r, "--iters", text, 1, 100000, &r->iters);
	case OPT_CHUNK: return take(r, "--chunk", text, 65536, 16 << 20, &r->chunk);
	case OPT_CHANNELS: return take(r, "--channels", text, 1, 256, &r->channels);
	case OPT_WINDOW:
		rc = take(r, "--window", text, 1, SENDS_MAX, &r->sends);
		r->receives = r->sends;
		return rc;
	case OPT_TIMEOUT: return take(r, "--timeout", text, 1, 86400, &r->timeout_s);
	case OPT_HOST: r->host_only = true; return 0;
	case OPT_SKIP: r->warm_up = false; return 0;
	case OPT_VERBOSE: r->verbose = true; return 0;
	case OPT_LOG: r->log = text; return 0;
	default: return EXIT_USAGE; /* getopt_long() has said what is wrong */
	}
}

static int
take_words(struct run *r, int argc, char **argv)
{
	const struct program *p = r->program;
	const char *gpu = NULL;
	int words = argc - optind;

	if (words >= 1 && !strcmp(argv[optind], "server") && words <= 2) {
		r->server = true;
		gpu = words == 2 ? argv[optind + 1] : NULL;
	} else if (words >= 2 && words <= 3 && !strcmp(argv[optind], "client")) {
		r->ip = argv[optind + 1];
		gpu = words == 3 ? argv[optind + 2] : NULL;
	} else {
		fprintf(stderr, "usage: %s server%s | client <ip> [gpu]; see --help\n", p->name,
			p->gpu_word ? " <gpu>" : "");
		return EXIT_USAGE;
	}
	return gpu ? take_gpus(r, gpu) : 0;
}

int
run_parse(const struct program *program, int argc, char **argv, env_fn env, void *arg,
	  struct run *run)
{
	struct run r = {
		.program = program, .gpus = 1, .port = program->port, .size = program->size,
		.chunk = program->chunk, .iters = program->iters, .channels = program->channels,
		.sends = 12, .receives = 16, .timeout_s = 30, .warm_up = true,
	};
	int id, rc = read_env(&r, env, arg);

	optind = 0; /* from the beginning, also when asked again */
	while (!rc && (id = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (id == 'h' || id == OPT_HELP) {
			run_help(program, stdout);
			return -1;
		}
		rc = take_option(&r, id, optarg);
	}
	if (!rc)
		rc = take_words(&r, argc, argv);
	if (!rc && program->text && r.size < strlen(program->text) + 1)
		rc = refuse(&r, "UCCL_TCPX_PAYLOAD_BYTES", env(arg, "UCCL_TCPX_PAYLOAD_BYTES"),
			    "room for the text, 25 and more");
	if (!rc && r.gpus > 1 && !program->port_by_gpu)
		rc = refuse(&r, "GPU", argv[argc - 1], "one; test_tcpx_perf_multi takes several");
	if (!rc && r.port + (program->port_by_gpu ? r.gpu[r.gpus - 1] : 0) > 65535)
		rc = refuse(&r, "port", "base + GPU", "at most 65535");
	if (rc)
		return rc;
	if (program->text)
		r.warm_up = false;
	*run = r;
	return 0;
}
