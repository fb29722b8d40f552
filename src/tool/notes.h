/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects as notes, cut in parts where one is longer than a note. */
#ifndef TOOL_NOTES_H
#define TOOL_NOTES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tcpx/tcpx.h"

enum {
	JOB_PART_BYTES = 8000,   /* a note holds 8 KiB */
	JOB_MSG_BYTES = 1 << 20  /* longest message    */
};

/* Sends @msg, whose reference it takes, with member "t" = @type. Codes of tcpx_notify(). */
TCPX_MUST_CHECK int job_send(tcpx_peer *peer, const char *type, json_t *msg);

/* Puts parts together; zeroed at first. */
struct job_inbox {
	uint32_t msg, parts, have;
	char *text;
	size_t len;
};

/* Takes one note. 0: *msg is a complete message, a new reference; -EAGAIN: more parts
 * follow; TCPX_EBLOB (logged): not a fitting part. Its texts show (base/text.h). */
TCPX_MUST_CHECK int job_inbox_feed(struct job_inbox *in, const void *data, size_t len,
				   json_t **msg);
void job_inbox_fini(struct job_inbox *in);
/* The parts of @text, one at a time: the note in @out, its length; 0 after the last. */
size_t job_part(const char *text, size_t len, uint32_t msg, uint32_t index,
		char out[JOB_PART_BYTES + 32]);

#endif
