/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest whole transfer: one side registers memory; the other writes into it and
 * sends a note.
 *
 *	hello_write                 both sides in this process
 *	hello_write receive FILE    here the receiver; FILE is what the sender needs
 *	hello_write send FILE       there the sender
 */
#include <stdbool.h>
#include <string.h>

#include "example.h"

#define LEN (8u << 20)

static unsigned char
pattern(size_t i)
{
	return (unsigned char)(i * 31 + (i >> 8));
}

static int
send_to(struct side *s, const struct invitation *inv)
{
	struct tcpx_desc from = { .len = LEN }, to = { .len = LEN };

	if (open_engine(s, "sender"))
		return 1;
	s->memory = malloc(LEN);
	for (size_t i = 0; s->memory && i < LEN; i++)
		s->memory[i] = pattern(i);
	DO(tcpx_mem_register(s->engine, s->memory, LEN, TCPX_MEM_LOCAL, &s->mine));
	if (accept_invitation(s, inv))
		return 1;
	from.region = s->mine;
	to.region = s->theirs;
	DO(tcpx_write(s->peer, &from, 1, &to, 1, "hello", 5, &s->xfer));
	DO(tcpx_wait(s->xfer, 30000)); /* every byte is in place at the peer */
	return 0;
}

static int
open_receiver(struct side *s, struct invitation *inv)
{
	if (open_engine(s, "receiver"))
		return 1;
	s->memory = calloc(1, LEN);
	DO(tcpx_mem_register(s->engine, s->memory, LEN, TCPX_MEM_REMOTE_WRITE, &s->mine));
	return invite(s, inv);
}

/* The note comes after the last byte: once it is here, all data is. */
static int
take_note(struct side *s)
{
	const char *text;
	size_t len, i;

	DO(tcpx_note_wait(s->engine, 60000, &s->note));
	text = tcpx_note_data(s->note, &len);
	for (i = 0; i < LEN && s->memory[i] == pattern(i); i++)
		;
	printf("%s says \"%.*s\"; %zu of %u bytes are right\n", tcpx_note_sender(s->note),
	       (int)len, text, i, LEN);
	return i < LEN;
}

/* Writes under another name first: the file is complete when it appears. */
static int
write_file(const char *path, const struct invitation *inv)
{
	char part[4096];
	bool whole;
	FILE *f;

	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "w");
	whole = f && fwrite(inv, sizeof(*inv), 1, f) == 1;
	if ((f && fclose(f) != 0) || !whole || rename(part, path) != 0) {
		perror(path);
		return 1;
	}
	return 0;
}

static int
read_file(const char *path, struct invitation *inv)
{
	FILE *f = fopen(path, "r");
	bool whole = f && fread(inv, sizeof(*inv), 1, f) == 1;

	if (!f)
		perror(path);
	else if (!whole)
		fprintf(stderr, "%s: no invitation\n", path);
	if (f)
		fclose(f);
	return !whole;
}

static int
run(int argc, char **argv, struct side *sender, struct side *receiver)
{
	struct invitation inv;

	if (argc == 1)
		return open_receiver(receiver, &inv) || send_to(sender, &inv) ||
		       take_note(receiver);
	if (argc == 3 && !strcmp(argv[1], "receive"))
		return open_receiver(receiver, &inv) || write_file(argv[2], &inv) ||
		       take_note(receiver);
	if (argc == 3 && !strcmp(argv[1], "send"))
		return read_file(argv[2], &inv) || send_to(sender, &inv);
	fprintf(stderr, "usage: hello_write [receive FILE | send FILE]\n");
	return 2;
}

int
main(int argc, char **argv)
{
	struct side sender = { 0 }, receiver = { 0 };
	int rc = run(argc, argv, &sender, &receiver);

	give_back(&sender);
	give_back(&receiver);
	return rc;
}
