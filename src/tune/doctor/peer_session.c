/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine is silent: its log goes to us, for what the provider says of a data port that no
 * channel could connect to.
 */
#include "tune/doctor/peer_session.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tool/notes.h"
#include "tool/tool.h"

#define OPEN_MS 8000   /* the engine's own limits are shorter */
#define ANSWER_MS 3000

/* Only the engine's one thread writes; we read after it has ended. */
static void
hear(void *arg, int level, const char *line)
{
	static const char mark[] = "data port ";
	struct peer_session *s = arg;
	const char *at = strstr(line, mark);

	(void)level;
	if (at && !*s->port_text)
		snprintf(s->port_text, sizeof(s->port_text), "%s", at + strlen(mark));
}

static int
open_engine(const struct machine *m, struct peer_session *s)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	char nics[1024];
	const char *settings[] = {
		"TCPX_PORT=0", "TCPX_PROVIDER=sock", "TCPX_THREADS=1", "TCPX_CONNECT_MS=2000",
		"TCPX_HANDSHAKE_MS=3000", "TCPX_DEBUG=DEBUG", "TCPX_DEBUG_SUBSYS=NET", nics, NULL
	};

	snprintf(nics, sizeof(nics), "TCPX_NICS=%s", m->selection);
	opts.settings = settings;
	tcpx_log_sink(hear, s);
	return tcpx_open(&opts, &s->engine);
}

bool
peer_session_open(const struct machine *m, const struct peer_addr *to, struct peer_session *s,
		  char *why, size_t cap)
{
	struct tcpx_addr addr = to->addr;
	char address[64], text[256] = "";
	int rc;

	*s = (struct peer_session){ .engine = NULL };
	addr.port = to->port;
	tcpx_addr_format(&addr, address, sizeof(address));
	rc = open_engine(m, s);
	if (rc == 0)
		rc = tcpx_peer_connect(s->engine, address, &s->peer);
	if (rc == 0)
		rc = tcpx_peer_wait(s->peer, OPEN_MS);
	if (rc == 0)
		return true;
	if (s->engine)
		tcpx_last_error(s->engine, text, sizeof(text));
	snprintf(why, cap, "no session with %s: %s", address, *text ? text : tcpx_strerror(rc));
	peer_session_close(m, s);
	return false;
}

/* The next message; NULL: none came in time. */
static json_t *
next_message(struct peer_session *s)
{
	struct job_inbox inbox = { 0 };
	json_t *msg = NULL;
	tcpx_note *note;

	while (!msg && tcpx_note_wait(s->engine, ANSWER_MS, &note) == 0) {
		size_t len;
		const void *data = tcpx_note_data(note, &len);

		if (job_inbox_feed(&inbox, data, len, &msg))
			msg = NULL;
		tcpx_note_free(note);
	}
	job_inbox_fini(&inbox);
	return msg;
}

json_t *
peer_session_ask(struct peer_session *s, uint64_t token, char *why, size_t cap)
{
	json_t *msg = NULL, *nics;

	if (!job_send(s->peer, "reach", json_pack("{s:I}", "token", (json_int_t)token)))
		msg = next_message(s);
	nics = json_incref(json_object_get(msg, "nics"));
	if (!msg)
		snprintf(why, cap, "the peer does not answer as tcpx serve does");
	else if (json_string_value(json_object_get(msg, "text")))
		snprintf(why, cap, "the peer's tcpx serve: %s",
			 json_string_value(json_object_get(msg, "text")));
	else if (!json_array_size(nics))
		snprintf(why, cap, "the peer's tcpx serve is too old for it");
	json_decref(msg);
	if (json_array_size(nics))
		return nics;
	json_decref(nics);
	return NULL;
}

void
peer_session_close(const struct machine *m, struct peer_session *s)
{
	if (s->peer && job_send(s->peer, "bye", NULL) == 0)
		(void)tcpx_close_wait(s->engine, ANSWER_MS);
	else
		tcpx_close(s->engine);
	s->engine = NULL;
	s->peer = NULL;
	tool_log_start();
	if (m->cfg && tcpx_log_setup(tcpx_cfg_str(m->cfg, TCPX_SET_DEBUG),
				     tcpx_cfg_str(m->cfg, TCPX_SET_DEBUG_SUBSYS), NULL))
		return; /* they were right before */
}
