/* SPDX-License-Identifier: Apache-2.0 */
/* The tool's events as the lines of the older programs. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "front.h"
#include "place.h"

static const char *
text_of(const json_t *event, const char *name)
{
	const char *text = json_string_value(json_object_get(event, name));

	return text ? text : "";
}

static uint64_t
number_of(const json_t *event, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(event, name));
}

static bool
is_server(const struct side *s)
{
	return !s->run->ip;
}

static const char *
role_of(const struct side *s)
{
	return is_server(s) ? "SERVER" : "CLIENT";
}

static const char *
tag_of(const struct side *s)
{
	return s->run->program->tag;
}

/* "cuda:3" as "GPU 3". */
static const char *
place_of(const char *place, char out[32])
{
	bool gpu = !strncmp(place, "cuda:", 5);

	snprintf(out, 32, "%s%.20s", gpu ? "GPU " : "host memory", gpu ? place + 5 : "");
	return out;
}

/* ---- the head ------------------------------------------------------------------------ */

static void
print_channel(struct side *s, const json_t *event, const json_t *channel, const char *gpu_path,
	      int gpu_numa)
{
	const json_t *nics = json_object_get(event, "nics");
	const char *nic = text_of(channel, "nic"), *pci;
	char link[96], path[PATH_MAX];
	size_t dev = 0, count = json_array_size(nics);
	int numa = -1;

	while (dev < count && strcmp(text_of(json_array_get(nics, dev), "name"), nic))
		dev++;
	if (dev < count)
		numa = (int)json_integer_value(json_object_get(json_array_get(nics, dev), "numa"));
	snprintf(link, sizeof(link), "/sys/class/net/%.32s/device", nic);
	sysfs_path(link, path, sizeof(path));
	pci = strrchr(path, '/') ? strrchr(path, '/') + 1 : "none";
	fprintf(s->out, "[ChannelManager] Channel %" PRIu64 " -> netDev %zu (%s, PCI=%s, score=%d,"
		" numa=%d%s)\n", number_of(channel, "index"), dev, nic, pci,
		path_score(gpu_path, path), numa, numa >= 0 && numa == gpu_numa ? ", numa-match" : "");
}

static void
print_channels(struct side *s, const json_t *event)
{
	const json_t *channels = json_object_get(event, "channels"), *channel;
	const char *pci = text_of(json_array_get(json_object_get(event, "gpus"), 0), "pci");
	size_t i, nics = json_array_size(json_object_get(event, "nics"));
	char link[128], gpu_path[PATH_MAX] = "";
	int gpu_numa = -1;

	if (*pci) {
		snprintf(link, sizeof(link), "/sys/bus/pci/devices/%.31s", pci);
		sysfs_path(link, gpu_path, sizeof(gpu_path));
		snprintf(link, sizeof(link), "/sys/bus/pci/devices/%.31s/numa_node", pci);
		gpu_numa = read_number(link, -1);
	}
	json_array_foreach(channels, i, channel)
		print_channel(s, event, channel, gpu_path, gpu_numa);
	if (i == 1)
		snprintf(s->by, sizeof(s->by), " channel=0 NIC=%.32s",
			 text_of(json_array_get(channels, 0), "nic"));
	else
		snprintf(s->by, sizeof(s->by), " by one of %zu channels", i);
	if (json_array_size(channels) > nics)
		fprintf(s->out, "[ChannelManager] %zu channels share %zu NICs\n",
			json_array_size(channels), nics);
	fprintf(s->out, "[%s] Channels: %zu\n", tag_of(s), json_array_size(channels));
}

static void
take_session(struct side *s, const json_t *event)
{
	const char *near = text_of(event, "mem"), *far = text_of(event, "peer_mem");
	const char *from = is_server(s) ? far : near, *to = is_server(s) ? near : far;
	const char *tag = tag_of(s), *provider = text_of(event, "provider");
	char a[32], b[32];

	s->size = number_of(event, "size");
	s->chunk = number_of(event, "chunk");
	s->window = number_of(event, "window");
	s->iters = number_of(event, "iters");
	snprintf(s->how, sizeof(s->how), "provider %.15s, %s to %s", provider, place_of(from, a),
		 place_of(to, b));
	fprintf(s->out, "[Bootstrap] %s %s\n", is_server(s) ? "Accepted" : "Connected to",
		text_of(event, "peer"));
	if (is_server(s) && (s->size != s->run->size || s->iters != s->run->iters))
		fprintf(s->out, "[Bootstrap] The client's size and iterations count\n");
	fprintf(s->out, "[%s] Mode: %s\n", tag, role_of(s));
	fprintf(s->out, "[%s] GPU: %u (%s)\n", tag, s->gpu,
		!strncmp(near, "cuda:", 5) ? "memory of the GPU" :
		run_is_on(s->run, HOST_RECV) ? "host memory, as asked" : "host memory");
	fprintf(s->out, "[%s] Provider: %s\n", tag, provider);
	fprintf(s->out, "[%s] Memory: %s to %s\n", tag, a, b);
	print_channels(s, event);
	if (s->size % (1 << 20))
		fprintf(s->out, "[%s] Size: %.6g MB\n", tag, (double)s->size / (1 << 20));
	else
		fprintf(s->out, "[%s] Size: %" PRIu64 " MB\n", tag, s->size >> 20);
	fprintf(s->out, "[%s] Iterations: %" PRIu64 "\n", tag, s->iters);
	fprintf(s->out, "[%s] Chunk size: %" PRIu64 " bytes\n", tag, s->chunk);
	fprintf(s->out, "[%s] Window: %" PRIu64 " messages a channel\n", tag, s->window);
}

/* ---- iterations ---------------------------------------------------------------------- */

/* A chunk's name in the log: those of the warm-up stand behind the last iteration's. */
static uint64_t
tag_number(const struct side *s, uint64_t chunk)
{
	return s->run->program->first_tag + (s->timed ? s->at : s->iters + s->at) * 10000 + chunk;
}

static void
print_chunks(struct side *s)
{
	for (uint64_t c = 0; !s->shown && s->chunk && c * s->chunk < s->size; c++) {
		uint64_t at = c * s->chunk, left = s->size - at;

		fprintf(s->out, "[%s][%s] chunk_idx=%" PRIu64 " tag=%" PRIu64 " size=%" PRIu64
			" offset=%" PRIu64 "\n", tag_of(s), role_of(s), c, tag_number(s, c),
			left < s->chunk ? left : s->chunk, at);
	}
	s->shown = true;
}

static void
take_begin(struct side *s, const json_t *event)
{
	s->at = number_of(event, "run");
	s->timed = json_is_true(json_object_get(event, "timed"));
	s->shown = false;
	if (s->run->program->text)
		return;
	if (!s->timed)
		fprintf(s->out, "[%s] Warm-up\n", tag_of(s));
	else
		fprintf(s->out, "[%s] Iteration %" PRIu64 ": total bytes=%" PRIu64 ", chunk_bytes=%"
			PRIu64 "\n", tag_of(s), s->at, s->size, s->chunk);
	/* the first shows what all of them look like */
	if (run_is_on(s->run, VERBOSE) || (s->timed && !s->at))
		print_chunks(s);
}

static void
take_run(struct side *s, const json_t *event)
{
	uint64_t ns = number_of(event, "ns");

	if (!s->timed)
		return;
	s->done++;
	s->ns += ns;
	s->peer_ns += number_of(event, "peer_ns");
	s->first_ns = s->at ? s->first_ns : ns;
	if (!s->run->program->text)
		fprintf(s->out, "[%s] Iter %" PRIu64 " time=%.3fms (%s)\n", tag_of(s), s->at,
			(double)ns / 1e6, s->how);
}

/* "3", or "warm-up". */
static const char *
iteration_of(const struct side *s, char out[24])
{
	snprintf(out, 24, "warm-up");
	if (s->timed)
		snprintf(out, 24, "%" PRIu64, s->at);
	return out;
}

static void
take_verdict(struct side *s, const json_t *event)
{
	uint64_t wrong = number_of(event, "wrong"), first = number_of(event, "first");
	uint64_t chunk = s->chunk ? first / s->chunk : 0;
	const char *what = strstr(text_of(event, "text"), ": ");
	char where[24];

	s->verdicts++;
	s->wrong += wrong;
	if (*text_of(event, "received"))
		fprintf(s->out, "[%s] Received: '%s'\n", tag_of(s), text_of(event, "received"));
	if (!wrong)
		return;
	print_chunks(s);
	fprintf(s->out, "[ERROR] Data mismatch at iteration %s chunk=%" PRIu64 " tag=%" PRIu64 " offset=%"
		PRIu64 "%s transfer=%" PRIu64 " stage: compared, %" PRIu64 " wrong bytes%s\n",
		iteration_of(s, where), chunk, tag_number(s, chunk), first, s->by,
		number_of(event, "transfer"), wrong, what ? what : "");
}

static void
take_failed(struct side *s, const json_t *event)
{
	static const char *const heads[] = { "[ERROR] Send failed at iteration ",
					     "[ERROR] Send timeout at iteration ",
					     "[ERROR] Receive failed at iteration ",
					     "[ERROR] Receive timeout at iteration " };
	bool late = json_is_true(json_object_get(event, "late"));
	uint64_t chunk = number_of(event, "chunk");
	const json_t *channel = json_object_get(event, "channel");
	char where[24];

	print_chunks(s);
	fprintf(s->out, "%s%s chunk=%" PRIu64 " tag=%" PRIu64 " offset=%" PRIu64,
		heads[2 * is_server(s) + late], iteration_of(s, where), chunk,
		tag_number(s, chunk), number_of(event, "offset"));
	if (json_integer_value(channel) >= 0)
		fprintf(s->out, " channel=%d NIC=%s", (int)json_integer_value(channel),
			text_of(event, "nic"));
	fprintf(s->out, " transfer=%" PRIu64 " stage: %s\n", number_of(event, "transfer"),
		text_of(event, "stage"));
	fprintf(s->out, "[ERROR] %s (%s) %s\n", text_of(event, "text"), text_of(event, "code"),
		text_of(event, "cause"));
	s->failed = true;
}

static void
take_usage(struct side *s, const json_t *event)
{
	const json_t *thread;
	double mean = json_real_value(json_object_get(event, "in_flight_mean"));
	size_t i;

	if (mean > 0)
		fprintf(s->out, "[%s] In flight: %.2f messages a channel, at most %" PRIu64 " of %"
			PRIu64 "\n", tag_of(s), mean, number_of(event, "in_flight_max"), s->window);
	if (!run_is_on(s->run, VERBOSE))
		return;
	json_array_foreach(json_object_get(event, "threads"), i, thread)
		fprintf(s->out, "[THREAD] %s (%d): asked for CPUs %s, granted %s, ran on CPUs %s\n",
			text_of(thread, "name"), (int)number_of(thread, "tid"),
			*text_of(thread, "requested") ? text_of(thread, "requested") : "any",
			text_of(thread, "granted"), text_of(thread, "ran_on"));
}

/* ---- all of it ----------------------------------------------------------------------- */

static void
take_ready(struct side *s, const json_t *event)
{
	fprintf(s->out, "[Bootstrap] Listening on port %" PRIu64 "\n", number_of(event, "port"));
}

static void
take_refused(struct side *s, const json_t *event)
{
	if (is_server(s))
		fprintf(s->out, "[Bootstrap] Refused %s: %s\n", text_of(event, "peer"),
			text_of(event, "text"));
}

static void
take_error(struct side *s, const json_t *event)
{
	fprintf(s->out, "[%s] %s\n", "ERROR", text_of(event, "text"));
}

static void
take_event(struct side *s, const json_t *event)
{
	static const struct {
		const char *name;
		void (*take)(struct side *s, const json_t *event);
	} kinds[] = {
		{ "ready", take_ready },     { "session", take_session }, { "begin", take_begin },
		{ "run", take_run },	     { "verdict", take_verdict }, { "failed", take_failed },
		{ "usage", take_usage },     { "refused", take_refused }, { "error", take_error },
	};
	const char *name = text_of(event, "event");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name))
			kinds[i].take(s, event);
}

/* What the command says for people is an error, but where --any allows it. */
static void
print_text(struct side *s, const char *line)
{
	static const char *const heads[] = { "tcpx perf: ", "tcpx serve: " };

	if (!strncmp(line, "tcpx serve: client ", 19))
		return; /* an event says it, too */
	for (size_t i = 0; i < 2; i++)
		if (!strncmp(line, heads[i], strlen(heads[i]))) {
			fprintf(s->out, "[%s] %s\n", strstr(line, "by --any") ? "WARN" : "ERROR",
				line + strlen(heads[i]));
			return;
		}
	fprintf(s->out, "%s\n", line);
}

void
side_line(struct side *s, const char *line)
{
	json_t *event = *line == '{' ? json_loads(line, 0, NULL) : NULL;

	if (event)
		take_event(s, event);
	else
		print_text(s, line);
	json_decref(event);
}

static void
print_average(struct side *s)
{
	const char *us = is_server(s) ? "server" : "client", *them = is_server(s) ? "client" : "server";
	double n = (double)s->done, ms = (double)s->ns / 1e6 / n, mb = (double)s->size / 1e6;
	double apart = s->peer_ns ? 100.0 * ((double)s->peer_ns / (double)s->ns - 1) : 0;

	fprintf(s->out, "[%s] Agreement: %s %.3f ms, %s %.3f ms, %+.2f %%\n", tag_of(s), us,
		(double)s->ns / 1e6, them, (double)s->peer_ns / 1e6, apart);
	if (apart > 3 || apart < -3)
		fprintf(s->out, "[WARN] The two sides' times are more than 3 %% apart: too short a"
			" run, or a busy machine\n");
	fprintf(s->out, "[%s] Avg (%" PRIu64 " iter): %.3f ms, BW: %.2f GB/s (%s)\n", tag_of(s),
		s->done, ms, mb / ms, s->how);
	if (s->done < 2)
		return;
	ms = (double)(s->ns - s->first_ns) / 1e6 / (n - 1);
	fprintf(s->out, "[STEADY-STATE] Avg time: %.3f ms, BW: %.2f GB/s (%s)\n", ms, mb / ms, s->how);
}

void
side_end(struct side *s, int code)
{
	bool all = s->iters && s->done == s->iters && !s->failed;

	if (all && s->ns && !s->run->program->text)
		print_average(s);
	if (s->wrong)
		fprintf(s->out, "[%s] FAILED: %" PRIu64 " wrong bytes\n", tag_of(s), s->wrong);
	else if (code || !all)
		fprintf(s->out, "[%s] FAILED: exit code %d\n", tag_of(s), code);
	else if (s->verdicts)
		fprintf(s->out, "[%s] PASSED: every byte compared (%s)\n", tag_of(s), s->how);
	else
		fprintf(s->out, "[WARN] Unpack none: nothing is copied, the data is wrong\n[%s] done,"
			" not compared\n", tag_of(s));
	fflush(s->out);
}
