/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest whole transfer: one side registers memory; the other writes into it and
 * sends a note.
 *
 *	hello_write                 both sides in this process
 *	hello_write receive FILE    here the receiver; FILE is what the sender needs
 *	hello_write send FILE       there the sender
 */
#include <string.h>

#include "example.h"

#define LEN (8u << 20)

static unsigned char
pattern(size_t i)
{
	return (unsigned char)(i * 31 + (i >> 8));
}

static void
send_to(const struct invitation *inv)
{
	tcpx_engine *engine = open_engine("sender");
	unsigned char *buf = malloc(LEN);
	uint64_t mine, theirs;
	tcpx_peer *peer;
	tcpx_xfer *xfer;

	for (size_t i = 0; buf && i < LEN; i++)
		buf[i] = pattern(i);
	must(tcpx_mem_register(engine, buf, LEN, TCPX_MEM_LOCAL, &mine), "tcpx_mem_register");
	must(tcpx_mem_import(engine, inv->region, inv->region_len, &theirs), "tcpx_mem_import");
	must(tcpx_peer_add(engine, inv->engine, inv->engine_len, &peer), "tcpx_peer_add");

	struct tcpx_desc from = { mine, 0, LEN }, to = { theirs, 0, LEN };

	must(tcpx_write(peer, &from, 1, &to, 1, "hello", 5, &xfer), "tcpx_write");
	must(tcpx_wait(xfer, 30000), "tcpx_wait"); /* every byte is in place at the peer */

	tcpx_xfer_free(xfer);
	tcpx_peer_free(peer);
	tcpx_close(engine);
	free(buf);
}

/* The note comes after the last byte: once it is here, all data is. */
static void
take_note(tcpx_engine *engine, const unsigned char *buf)
{
	tcpx_note *note;
	const char *text;
	size_t len, i;

	must(tcpx_note_wait(engine, 60000, &note), "tcpx_note_wait");
	text = tcpx_note_data(note, &len);
	for (i = 0; i < LEN && buf[i] == pattern(i); i++)
		;
	printf("%s says \"%.*s\"; %zu of %u bytes are right\n", tcpx_note_sender(note), (int)len,
	       text, i, LEN);
	tcpx_note_free(note);
	must(i == LEN ? 0 : TCPX_EDATA, "data");
}

/* Writes under another name first: the file is complete when it appears. */
static void
write_file(const char *path, const struct invitation *inv)
{
	char part[4096];
	FILE *f;

	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "w");
	if (!f || fwrite(inv, sizeof(*inv), 1, f) != 1 || fclose(f) != 0 ||
	    rename(part, path) != 0) {
		perror(path);
		exit(1);
	}
}

static struct invitation
read_file(const char *path)
{
	struct invitation inv;
	FILE *f = fopen(path, "r");

	if (!f || fread(&inv, sizeof(inv), 1, f) != 1) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return inv;
}

int
main(int argc, char **argv)
{
	struct invitation inv;
	tcpx_engine *engine;
	unsigned char *buf;
	uint64_t region;

	if (argc == 3 && !strcmp(argv[1], "send")) {
		inv = read_file(argv[2]);
		send_to(&inv);
		return 0;
	}
	if (argc != 1 && (argc != 3 || strcmp(argv[1], "receive"))) {
		fprintf(stderr, "usage: hello_write [receive FILE | send FILE]\n");
		return 2;
	}
	engine = open_engine("receiver");
	buf = calloc(1, LEN);
	must(tcpx_mem_register(engine, buf, LEN, TCPX_MEM_REMOTE_WRITE, &region),
	     "tcpx_mem_register");
	inv = invite(engine, region);
	if (argc == 3)
		write_file(argv[2], &inv);
	else
		send_to(&inv);
	take_note(engine, buf);
	tcpx_close(engine);
	free(buf);
	return 0;
}
