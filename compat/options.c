/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, options and variables of a run. The command line beats the environment, the older
 * names beat ours, and these the program's own defaults. Nothing here looks at the machine.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

#define HELLO "Hello from TCPX client!"
#define SIZE_MAX_BYTES (256ull << 20) /* of an iteration, as the older programs had it */

static const struct program programs[] = {
	{ "test_tcpx_transfer", "TCPX", "Moves one message and compares every byte of it.", 12345,
	  false, "4096", "1", "1", HELLO, 42 },
	{ "test_tcpx_transfer_multi", "TCPX", "Moves messages over several channels and compares"
	  " every byte.", 12345, false, "4M", "1", "2", HELLO, 42 },
	{ "test_tcpx_perf", "PERF", "Measures bandwidth over one channel; every byte is compared.",
	  12347, false, "4M", "10", "1", NULL, 99 },
	{ "test_tcpx_perf_multi", "PERF", "Measures bandwidth over several channels; every byte is"
	  " compared.", 20000, true, "4M", "10", "1/nic", NULL, 99 },
	{ "test_multi_channel", "PERF", "Opens a channel on each NIC, moves one transfer and"
	  " compares it.", 20000, true, "16M", "1", "1/nic", NULL, 99 },
};

/* Names of variables, the first that is set counts. */
static const struct {
	const char *name, *arg, *names[4], *help;
} options[VALUES] = {
	[PORT] = { "port", "N", { "UCCL_TCPX_BOOTSTRAP_PORT_BASE", "UCCL_TCPX_PORT_BASE",
				  "UCCL_TCPX_BOOTSTRAP_PORT", "TCPX_PORT" }, "port of the server" },
	[SIZE] = { "size", "SIZE", { "UCCL_TCPX_PERF_SIZE" }, "bytes of an iteration, at most 256M" },
	[ITERS] = { "iters", "N", { "UCCL_TCPX_PERF_ITERS" }, "timed iterations" },
	[CHUNK] = { "chunk", "SIZE", { "UCCL_TCPX_CHUNK_BYTES", "TCPX_CHUNK",
				       "NCCL_P2P_NET_CHUNKSIZE" }, "bytes of a message (512K)" },
	[CHANNELS] = { "channels", "N", { "UCCL_TCPX_NUM_CHANNELS", "TCPX_CHANNELS" },
		       "connections in all, or N/nic" },
	[WINDOW] = { "window", "N", { NULL, "UCCL_TCPX_WINDOW_SIZE", "TCPX_WINDOW" },
		     "messages in flight on each channel, the less of both sides (16);\n"
		     "                  UCCL_TCPX_MAX_SEND_INFLIGHT of a client, _MAX_RECV_INFLIGHT of"
		     " a server" },
	[TIMEOUT] = { "timeout", "S", { NULL }, "a transfer that takes longer is lost (30)" },
	[WAIT] = { "wait", "S", { NULL }, "a server without a client ends after S seconds; 0: never"
		   " (600)" },
	[IFACES] = { "ifaces", "LIST", { "TCPX_NICS" }, "NICs for the data" },
	[CTRL] = { "ctrl", "NIC", { "NCCL_GPUDIRECTTCPX_CTRL_DEV" }, "NIC for control" },
	[IMPL] = { "impl", "IMPL", { "UCCL_TCPX_UNPACK_IMPL", "TCPX_UNPACK_IMPL" },
		   "who copies: kernel, d2d, host, none" },
	[LOG] = { "log", "FILE", { NULL }, "lines go there, %g is the GPU (stdout)" },
	[HOST_RECV] = { "host-recv", NULL, { "UCCL_TCPX_HOST_RECV_DEBUG" },
			"memory of the host, not of the GPU" },
	[SKIP_WARMUP] = { "skip-warmup", NULL, { "UCCL_TCPX_SKIP_WARMUP" },
			  "no iteration before the timed ones" },
	[VERBOSE] = { "verbose", NULL, { "UCCL_TCPX_VERBOSE", "UCCL_TCPX_DEBUG", "TCPX_PERF" },
		      "a line for each message; variables, bindings, interrupts, threads" },
	[ANY] = { "any", NULL, { NULL }, "sockets where there is no plugin, host memory where there is"
		  " no GPU:\n                  without it that ends with exit code 3" },
	[DRY_RUN] = { "dry-run", NULL, { NULL }, "print what would be run" },
};

const struct program *
program_find(const char *name)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

static void
print_help(const struct program *p)
{
	printf("usage: %s [OPTIONS] server <gpu> | client <ip> [gpu]\n\n%s\n\n", p->name, p->about);
	for (int i = 0; i < VALUES; i++) {
		printf("  --%s %-*s%s", options[i].name, 13 - (int)strlen(options[i].name),
		       options[i].arg ? options[i].arg : "", options[i].help);
		if (options[i].names[0])
			printf(" (%s)", options[i].names[i == PORT && !p->by_gpu ? 2 : 0]);
		printf("\n");
	}
	printf("\nHere: port %llu%s, size %s, %s iterations, channels %s. Variables of NCCL, the"
	       " plugin and\ntcpx.conf(5) count (from a file all but channels, chunk and port); the"
	       " tool does\nthe rest: tcpx-perf(1).\n"
	       "<gpu> may be several, 0-7 or 0,2, where each has its port: one run for each, at"
	       " once.\n", (unsigned long long)p->port, p->by_gpu ? " + GPU" : "", p->size, p->iters,
	       p->channels);
}

static int
refuse(const struct run *r, const char *what, const char *text, const char *allowed)
{
	fprintf(stderr, "%s: %s '%s': allowed is %s\n", r->program->name, what, text, allowed);
	return EXIT_USAGE;
}

/* "64K", "4194304", "2M". */
static int
take_number(const struct run *r, enum value id, uint64_t max, uint64_t *out)
{
	const char *text = r->value[id], *suffix;
	char allowed[64], what[32], *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	suffix = *end ? strchr("KMG", *end & ~0x20) : NULL;
	if (suffix && v <= max) {
		v <<= 10 * (suffix - "KMG" + 1);
		end++;
	}
	snprintf(allowed, sizeof(allowed), "1 to %llu", (unsigned long long)max);
	snprintf(what, sizeof(what), "--%s", options[id].name);
	if (*text < '0' || *text > '9' || errno || *end || !v || v > max)
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

static const char *
env_of(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && *text ? text : NULL;
}

/* The variable of an option, or its default. */
static const char *
value_of(const struct run *r, enum value id)
{
	const struct program *p = r->program;
	const char *text = NULL;

	if (id == WINDOW)
		text = env_of(r->ip ? "UCCL_TCPX_MAX_SEND_INFLIGHT" : "UCCL_TCPX_MAX_RECV_INFLIGHT");
	if (p->text && id == SIZE)
		text = env_of("UCCL_TCPX_PAYLOAD_BYTES");
	else if (!p->text || (id != ITERS && id != SIZE))
		for (size_t i = id == PORT && !p->by_gpu ? 2 : 0; i < 4 && !text; i++)
			text = env_of(options[id].names[i]);
	if (text)
		return text;
	return id == SIZE ? p->size : id == ITERS ? p->iters : id == CHANNELS ? p->channels :
	       id == CHUNK ? "512K" : id == TIMEOUT ? "30" : id == WAIT ? "600" : NULL;
}

bool
run_is_on(const struct run *r, enum value id)
{
	return r->value[id] && strcmp(r->value[id], "0");
}

static int
take_words(struct run *r, int argc, char **argv)
{
	int words = argc - optind;

	if (words >= 1 && !strcmp(argv[optind], "server") && words <= 2)
		words--;
	else if (words >= 2 && words <= 3 && !strcmp(argv[optind], "client"))
		r->ip = argv[optind + 1], words -= 2;
	else {
		fprintf(stderr, "usage: %s server <gpu> | client <ip> [gpu]; see --help\n",
			r->program->name);
		return EXIT_USAGE;
	}
	return words ? take_gpus(r, argv[argc - 1]) : 0;
}

/* -1 after the help. */
static int
take_options(struct run *r, int argc, char **argv)
{
	struct option longs[VALUES + 2] = { { "help", no_argument, NULL, 'h' } };
	int id;

	for (int i = 0; i < VALUES; i++)
		longs[i + 1] = (struct option){ options[i].name,
						options[i].arg ? required_argument : optional_argument,
						NULL, 256 + i };
	while ((id = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (id == 'h') {
			print_help(r->program);
			return -1;
		}
		if (id < 256)
			return EXIT_USAGE; /* getopt_long() has said what is wrong */
		r->value[id - 256] = optarg ? optarg : "1";
		r->chosen[id - 256] = true;
	}
	return 0;
}

int
run_parse(const struct program *program, int argc, char **argv, struct run *run)
{
	static const char *const gpu_names[] = { "UCCL_TCPX_LOCAL_DEVICE", "UCCL_TCPX_DEVICE_IDX",
						 "UCCL_NCCL_DEVICE" };
	struct run r = { .program = program, .port = program->port };
	int rc = take_options(&r, argc, argv);

	if (!rc)
		rc = take_words(&r, argc, argv);
	for (int i = 0; !rc && !r.gpus && i < 3; i++)
		if (env_of(gpu_names[i]))
			rc = take_gpus(&r, env_of(gpu_names[i]));
	if (!r.gpus)
		r.gpus = 1;
	for (int i = 0; !rc && i < VALUES; i++)
		if (!r.value[i])
			r.value[i] = value_of(&r, (enum value)i);
	if (!rc && r.value[PORT])
		rc = take_number(&r, PORT, 65535, &r.port);
	if (!rc)
		rc = take_number(&r, SIZE, SIZE_MAX_BYTES, &r.size);
	if (!rc)
		rc = take_number(&r, ITERS, 100000, &r.iters);
	if (!rc && program->text && r.size < sizeof(HELLO) + 1)
		rc = refuse(&r, "UCCL_TCPX_PAYLOAD_BYTES", r.value[SIZE], "room for the text, 25 and"
			    " more");
	if (!rc && r.gpus > 1 && !program->by_gpu)
		rc = refuse(&r, "GPU", argv[argc - 1], "one; test_tcpx_perf_multi takes several");
	if (!rc && r.port + (program->by_gpu ? r.gpu[r.gpus - 1] : 0) > 65535)
		rc = refuse(&r, "port", "base + GPU", "at most 65535");
	if (!rc)
		*run = r;
	return rc;
}
