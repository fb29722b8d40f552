/* SPDX-License-Identifier: Apache-2.0 */
/* A side opens as many transfers at once as the peer has granted, and no more. */
#include "bare.h"

#include "core/transfer/end.h"
#include "core/transfer/launch.h"

enum { MANY = 8, LIST = 1000 };

static struct tcpx_xfer *
post(struct bare *b, enum tcpx_op op, uint64_t list_bytes)
{
	struct tcpx_xfer *x = bare_xfer(b, 0, 0, 4096);

	x->op = op;
	x->sends = op != TCPX_OP_READ;
	x->post.list_bytes = list_bytes;
	tcpx_session_get(b->s);
	x->session = b->s;
	tcpx_xfer_get(x);
	tcpx_chain_add(&b->s->xfers.waiting[xfer_kind(x)], &x->queue);
	return x;
}

static void
begin(struct bare *b, uint32_t xfers, uint64_t list)
{
	bare_open(b, true);
	b->s->credit.xfers = xfers;
	b->s->credit.list = list;
}

/* Counts those that have been opened. */
static uint32_t
opened(struct tcpx_xfer *const *x, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += tcpx_node_linked(&x[i]->table);
	return n;
}

static void
end_all(struct tcpx_xfer *const *x, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		tcpx_xfer_end(x[i], TCPX_ECANCELED, NULL);
		tcpx_xfer_put(x[i]);
	}
}

TEST(no_more_transfers_are_opened_than_are_granted)
{
	static const enum tcpx_op ops[] = { TCPX_OP_WRITE, TCPX_OP_READ, TCPX_OP_SEND };

	for (uint32_t granted = 1; granted < MANY; granted++)
		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
			struct tcpx_xfer *x[MANY];
			const uint32_t *used;
			struct bare b;

			begin(&b, granted, LIST);
			for (uint32_t i = 0; i < MANY; i++)
				x[i] = post(&b, ops[k], 0);
			used = &b.s->credit.used_xfers[xfer_kind(x[0])];
			tcpx_launch_waiting(b.s, b.now_ns);
			assert_int_equal(opened(x, MANY), granted);
			assert_int_equal(*used, granted);
			assert_true(tcpx_node_linked(&x[granted - 1]->table)); /* in order */
			tcpx_xfer_end(x[0], 0, NULL); /* the next one uses what it gives back */
			assert_int_equal(opened(x, MANY), granted);
			assert_true(tcpx_node_linked(&x[granted]->table));
			end_all(x, MANY);
			assert_int_equal(*used, 0);
			bare_close(&b);
		}
}

TEST(a_send_uses_no_credit_of_the_others)
{
	struct tcpx_xfer *x[4];
	struct bare b;

	begin(&b, 1, LIST);
	for (int i = 0; i < 4; i++)
		x[i] = post(&b, i < 2 ? TCPX_OP_SEND : TCPX_OP_WRITE, 0);
	tcpx_launch_waiting(b.s, b.now_ns);
	assert_int_equal(opened(x, 2), 1);
	assert_int_equal(opened(x + 2, 2), 1);
	end_all(x, 4);
	bare_close(&b);
}

TEST(no_more_list_bytes_are_opened_than_are_granted)
{
	static const struct {
		uint64_t bytes[4];
		uint32_t opened;
		uint64_t used;
	} rows[] = {
		{ { LIST, 1, 1, 1 }, 1, LIST },
		{ { LIST - 1, 1, 1, 1 }, 2, LIST },
		{ { LIST / 2, LIST / 2, LIST / 2, 1 }, 2, LIST },
		{ { LIST / 2, LIST / 2 + 1, 1, 1 }, 1, LIST / 2 }, /* in order */
		{ { 0, 0, LIST, 0 }, 4, LIST },
		{ { 1, LIST, 0, 0 }, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_xfer *x[4];
		struct bare b;

		begin(&b, MANY, LIST);
		for (int k = 0; k < 4; k++)
			x[k] = post(&b, TCPX_OP_WRITE, rows[i].bytes[k]);
		tcpx_launch_waiting(b.s, b.now_ns);
		assert_int_equal(opened(x, 4), rows[i].opened);
		assert_int_equal(b.s->credit.used_list, rows[i].used);
		end_all(x, 4);
		assert_int_equal(b.s->credit.used_list, 0);
		bare_close(&b);
	}
}

/* The own limit may be above the peer's. Such a transfer ends alone; those behind it go on. */
TEST(a_list_that_the_peer_never_takes_ends_its_transfer)
{
	struct tcpx_xfer *x[3];
	struct bare b;

	begin(&b, MANY, LIST);
	x[0] = post(&b, TCPX_OP_WRITE, LIST);
	x[1] = post(&b, TCPX_OP_WRITE, LIST + 1);
	x[2] = post(&b, TCPX_OP_WRITE, 0);
	tcpx_launch_waiting(b.s, b.now_ns);
	assert_int_equal(atomic_load(&x[1]->status), TCPX_ELIMIT);
	assert_non_null(strstr(x[1]->failure.cause, "TCPX_CREDIT_LIST_BYTES"));
	assert_true(tcpx_node_linked(&x[0]->table));
	assert_true(tcpx_node_linked(&x[2]->table));
	assert_int_equal(b.s->state, SESS_OPEN);
	end_all(x, 3);
	bare_close(&b);
}
