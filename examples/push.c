/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of a transfer in one program: the receiver registers memory for others to write
 * into and sends its key to the peer that says hello; the sender writes there with a note.
 *
 *	push               the receiver; it listens on port 28515
 *	push HOST:28515    the sender
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <tcpx/tcpx.h>

#define DO(call) do { int rc = call; if (rc) return failed(rc, #call); } while (0)

static char buf[1 << 20] = "a megabyte"; /* or memory of a GPU */
static tcpx_engine *e;
static tcpx_peer *peer;
static tcpx_note *note, *done;
static tcpx_xfer *x;
static uint64_t mine;

/* A wait gives -EAGAIN when its time has passed. The library describes every other failure. */
static int failed(int rc, const char *call)
{
	char why[1024] = "not within that time";

	if (rc != -EAGAIN)
		tcpx_last_error(e, why, sizeof(why));
	fprintf(stderr, "%s: %s\n", call, *why ? why : tcpx_strerror(rc));
	return 1;
}

static int receive(void)
{
	struct tcpx_engine_opts opts = { sizeof(opts), .listen = "28515" };
	char key[TCPX_BLOB_MAX];
	size_t len = sizeof(key);

	DO(tcpx_open(&opts, &e));
	DO(tcpx_mem_register(e, buf, sizeof(buf), TCPX_MEM_REMOTE_WRITE, &mine));
	DO(tcpx_mem_export(e, mine, key, &len));
	DO(tcpx_note_wait(e, 60000, &note));              /* "hello": a minute for it */
	DO(tcpx_peer_find(e, tcpx_note_sender(note), &peer));
	DO(tcpx_notify(peer, key, len));
	DO(tcpx_note_wait(e, 60000, &done));              /* "done": every byte is in place */
	puts(buf);
	return 0;
}

static int push(const char *host)
{
	uint64_t theirs;
	size_t len;

	strcpy(buf, "from node0");
	DO(tcpx_open(NULL, &e));
	DO(tcpx_peer_connect(e, host, &peer));
	DO(tcpx_peer_wait(peer, -1));                     /* fails when nobody listens there */
	DO(tcpx_notify(peer, "hello", 5));
	DO(tcpx_note_wait(e, 60000, &note));
	const void *key = tcpx_note_data(note, &len);
	DO(tcpx_mem_import(e, key, len, &theirs));
	DO(tcpx_mem_register(e, buf, sizeof(buf), TCPX_MEM_LOCAL, &mine));
	struct tcpx_desc from = { mine, 0, sizeof(buf) }, to = { theirs, 0, sizeof(buf) };
	DO(tcpx_write(peer, &from, 1, &to, 1, "done", 4, &x));
	DO(tcpx_wait(x, -1));                             /* every byte is in place there */
	return 0;
}

int main(int argc, char **argv)
{
	int rc = argc > 1 ? push(argv[1]) : receive();

	tcpx_note_free(note); /* all of these may be NULL */
	tcpx_note_free(done);
	tcpx_xfer_free(x);
	tcpx_peer_free(peer);
	tcpx_close(e);        /* its regions end with it */
	return rc;
}
