/* SPDX-License-Identifier: Apache-2.0 */
/* Events as JSON, each written with one call, so that they do not mix with log lines. */
#include "measure/perf/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/perf/usage.h"

enum { NICS = 64, CHANNELS = 512, LINE_BYTES = 1 << 16 };

bool
events_on_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

int
events_open(const char *path, FILE **f)
{
	*f = NULL;
	if (!path)
		return 0;
	*f = events_on_stdout(path) ? stdout : fopen(path, "we");
	if (!*f)
		return -errno;
	(void)setvbuf(*f, NULL, _IOFBF, LINE_BYTES); /* one write() a line */
	return 0;
}

void
events_close(FILE *f)
{
	if (f && f != stdout)
		fclose(f);
}

void
events_put(FILE *f, const char *type, json_t *fields)
{
	json_t *event = json_pack("{s:s}", "event", type);
	char *text;

	if (event && fields)
		json_object_update(event, fields);
	json_decref(fields);
	text = f ? json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(event);
	if (text) {
		fprintf(f, "%s\n", text);
		fflush(f);
	}
	free(text);
}

/* A text of a peer, as it shows. */
static json_t *
shown(const char *s)
{
	char text[256];

	tcpx_text_show(text, sizeof(text), s);
	return json_string(text);
}

static json_t *
format_nics(const struct tcpx_nic_info *nic, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "name", nic[i].name,
						      "addr", nic[i].addr, "numa", nic[i].numa));
	return list;
}

/* The channels of the session with @peer that are up and carry data in that direction. */
static json_t *
format_channels(tcpx_engine *engine, const char *peer, bool sending)
{
	struct tcpx_channel_info *c = calloc(CHANNELS, sizeof(*c));
	json_t *list = json_array();
	size_t n = CHANNELS;

	if (!c || tcpx_query_channels(engine, c, sizeof(c[0]), &n))
		n = 0;
	for (size_t i = 0; i < n && i < CHANNELS; i++)
		if (c[i].up && !c[i].sending == !sending && !strcmp(c[i].peer, peer))
			json_array_append_new(list, json_pack("{s:i, s:s, s:o}", "index",
							      (int)c[i].index, "nic", c[i].nic,
							      "peer_nic", shown(c[i].peer_nic)));
	free(c);
	return list;
}

json_t *
events_session(tcpx_engine *engine, tcpx_peer *peer, const char *name, bool sending)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	struct tcpx_nic_info nic[NICS];
	size_t n = NICS;

	if (tcpx_peer_query(peer, &info) || tcpx_query_nics(engine, nic, sizeof(nic[0]), &n))
		return json_object();
	return json_pack("{s:o, s:s, s:I, s:I, s:o, s:o}", "peer", shown(name), "provider",
			 info.provider, "chunk", (json_int_t)info.chunk_bytes, "window",
			 (json_int_t)info.window_slots, "nics",
			 format_nics(nic, n < NICS ? n : NICS), "channels",
			 format_channels(engine, name, sending));
}

json_t *
events_failure(tcpx_xfer *xfer, int code, bool sending)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info), .stuck_channel = -1 };
	json_t *event;

	if (xfer && tcpx_xfer_query(xfer, &info))
		info.cause[0] = '\0';
	event = json_pack("{s:s, s:s, s:s, s:o, s:b}", "op", sending ? "send" : "receive", "code",
			  tcpx_strerror_name(code), "text", tcpx_strerror(code), "cause",
			  shown(info.cause), "late", code == -EAGAIN || code == TCPX_ESTALLED ||
			  code == TCPX_ETIMEDOUT);
	if (event && xfer)
		json_object_update_new(event, json_pack(
			"{s:I, s:I, s:I, s:I, s:i, s:s, s:s}", "transfer", (json_int_t)info.id,
			"bytes_done", (json_int_t)info.bytes_done, "chunk",
			(json_int_t)info.stuck_chunk, "offset",
			(json_int_t)(info.stuck_chunk * info.chunk_bytes), "channel",
			info.stuck_channel, "nic", info.stuck_nic, "stage", info.stage));
	return event;
}

json_t *
events_usage(const struct usage *u)
{
	json_t *all = usage_format(u), *threads = json_incref(json_object_get(all, "thread"));
	uint64_t chunks = 0, in_flight = 0, most = 0;

	json_decref(all);
	for (size_t i = 0; i < u->channels; i++) {
		const struct tcpx_channel_info *c = &u->channel[i];

		if (!c->sending)
			continue;
		chunks += c->chunks;
		in_flight += c->in_flight_sum;
		most = c->in_flight_max > most ? c->in_flight_max : most;
	}
	return json_pack("{s:o, s:f, s:I}", "threads", threads, "in_flight_mean",
			 chunks ? (double)in_flight / (double)chunks : 0.0, "in_flight_max",
			 (json_int_t)most);
}
