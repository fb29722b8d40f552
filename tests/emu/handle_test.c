/* SPDX-License-Identifier: Apache-2.0 */
/* Handles, and who listens, connects and accepts with them: strict mode ends the process with a reason. */
#include "cases.h"

#include <string.h>

#include "emu/client.h"

static int
accept_again(void *arg)
{
	struct halves h;
	void *recv;

	halves_listen(&h);
	halves_meet(&h);
	CHECK(plugin()->accept(h.listen, &recv, &h.device) == REFUSED);
	return 0;
}

static int
connect_again(void *arg)
{
	struct halves h;
	void *send;

	halves_listen(&h);
	halves_meet(&h);
	CHECK(plugin()->connect(0, h.handle, &send, NULL) == REFUSED);
	return 0;
}

static int
handle_moved(void *arg)
{
	char copy[NCCL_HANDLE_BYTES];
	struct halves h;

	halves_listen(&h);
	CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK && !h.send);
	memcpy(copy, h.handle, sizeof(copy));
	CHECK(plugin()->connect(0, copy, &h.send, NULL) == REFUSED);
	return 0;
}

static int
handle_reused(void *arg)
{
	char copy[NCCL_HANDLE_BYTES];
	struct halves h;

	halves_listen(&h);
	memcpy(copy, h.handle, sizeof(copy));
	halves_meet(&h);
	CHECK(plugin()->connect(0, copy, &h.send, NULL) == REFUSED);
	return 0;
}

static int
handle_bad(void *arg)
{
	char handle[NCCL_HANDLE_BYTES] = "this is none";
	void *send;

	CHECK(plugin()->connect(0, handle, &send, NULL) == REFUSED);
	return 0;
}

/* The handle is sent as text, which ends at its first zero byte. */
static int
handle_as_text(void *arg)
{
	char text[NCCL_HANDLE_BYTES] = { 0 };
	struct halves h;

	halves_listen(&h);
	stpncpy(text, h.handle, sizeof(text));
	CHECK(plugin()->connect(0, text, &h.send, NULL) == REFUSED);
	return 0;
}

static int
handle_foreign(void *arg)
{
	struct halves h;

	halves_listen(&h);
	CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
	/* as if another process had called connect() before it sent the handle */
	for (unsigned i = sizeof(h.handle) / 2; i < sizeof(h.handle); i++)
		h.handle[i] = (char)(h.handle[i] ? h.handle[i] ^ 0x10 : 0);
	CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == REFUSED);
	return 0;
}

static int
device_handle(void *arg)
{
	struct nccl_device_handle *none = NULL;
	struct halves h;

	halves_listen(&h);
	CHECK(plugin()->accept(h.listen, &h.recv, NULL) == REFUSED);
	CHECK(plugin()->accept(h.listen, &h.recv, &none) == REFUSED);
	return 0;
}

static int
no_listen(void *arg)
{
	struct halves h;

	halves_listen(&h);
	CHECK(plugin()->close_listen(h.listen) == NCCL_OK);
	CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == REFUSED);
	return 0;
}

static int
no_handle(void *arg)
{
	void *comm;

	CHECK(plugin()->listen(0, NULL, &comm) == REFUSED);
	CHECK(plugin()->connect(0, NULL, &comm, NULL) == REFUSED);
	return 0;
}

TEST(what_strict_mode_ends)
{
	static const struct {
		const char *name;
		int (*body)(void *);
	} misuses[] = {
		{ "accept-again", accept_again },
		{ "connect-again", connect_again },
		{ "handle-moved", handle_moved },
		{ "handle-reused", handle_reused },
		{ "handle-bad", handle_bad },
		{ "handle-bad", handle_as_text },
		{ "handle-foreign", handle_foreign },
		{ "device-handle", device_handle },
		{ "no-listen", no_listen },
		{ "handle-bad", no_handle },
	};

	for (unsigned i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++)
		must_name(misuses[i].name, "", misuses[i].body);
}
