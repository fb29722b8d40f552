/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that describe NICs and faults, and the ring of requests. */
#include "cases.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "emu/faults.h"
#include "emu/ring.h"
#include "emu/rng.h"
#include "emu/topology.h"

TEST(nics_are_sorted_and_have_defaults)
{
	char why[EMU_WHY_BYTES] = "";
	struct emu_topology t;

	assert_true(emu_topology_parse("eth2=127.0.2.1,gpus=2+3,numa=1,speed=200000;"
				       "eth1=127.0.1.1,network=blue,pci=none;eth10", &t, why));
	assert_int_equal(t.count, 3);
	assert_string_equal(t.nic[0].name, "eth1");
	assert_string_equal(t.nic[0].network, "blue");
	assert_string_equal(t.nic[0].pci, "");
	assert_true(t.nic[0].gpus == UINT64_MAX);
	assert_string_equal(inet_ntoa(t.nic[0].addr), "127.0.1.1");
	assert_string_equal(t.nic[1].name, "eth10");
	assert_false(t.nic[1].has_addr);
	assert_string_equal(t.nic[1].network, "eth10");
	assert_int_equal(t.nic[2].gpus, 12);
	assert_int_equal(t.nic[2].numa, 1);
	assert_int_equal(t.nic[2].speed, 200000);
	assert_true(t.nic[2].pci[0] == '/');
}

TEST(a_file_is_the_same_text_in_lines)
{
	char why[EMU_WHY_BYTES] = "";
	struct emu_topology t;

	assert_true(emu_topology_parse("# two\n\n  b=127.0.0.1 # last\r\na=127.0.0.2,gpus=0\n", &t,
				       why));
	assert_int_equal(t.count, 2);
	assert_string_equal(t.nic[0].name, "a");
	assert_int_equal(t.nic[0].gpus, 1);
}

TEST(bad_nics_are_named)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "no NIC" },
		{ "eth1=1.2.3", "1.2.3" },
		{ "eth1=127.0.0.1;eth1=127.0.0.2", "twice" },
		{ "sixteen-letters=", "not an IPv4" },
		{ "sixteen-letters-", "1 to 15" },
		{ "=127.0.0.1", "1 to 15" },
		{ "a=127.0.0.1,gpus=64", "gpus" },
		{ "a=127.0.0.1,gpus=1,2", "without a value" },
		{ "a=127.0.0.1,gpus=1+", "gpus" },
		{ "a=127.0.0.1,colour=red", "colour" },
		{ "a=127.0.0.1,speed=-1", "speed" },
		{ "a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q", "16" },
	};
	char why[EMU_WHY_BYTES];
	struct emu_topology t;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(emu_topology_parse(bad[i].text, &t, why));
		assert_non_null(strstr(why, bad[i].why));
	}
}

static unsigned
selected(const char *list)
{
	char why[EMU_WHY_BYTES];
	struct emu_topology t;

	assert_true(emu_topology_parse("eth1;eth10;eth2;ib0", &t, why));
	emu_topology_select(&t, list);
	return t.count;
}

TEST(interfaces_are_selected_by_prefix)
{
	assert_int_equal(selected("eth"), 3);
	assert_int_equal(selected("eth1"), 2);
	assert_int_equal(selected("=eth1"), 1);
	assert_int_equal(selected("eth2,ib"), 2);
	assert_int_equal(selected("eth2:5000,ib"), 2);
	assert_int_equal(selected("^ib"), 3);
	assert_int_equal(selected("=eth"), 0);
}

TEST(faults_are_found_by_whom_they_mean)
{
	struct emu_faults f;
	char why[200] = "";

	assert_true(emu_faults_parse("kill:comm=1,req=0x10,role=send;flip-byte:byte=9; no-cmsg", 4,
				     &f, why, sizeof(why)));
	assert_int_equal(f.count, 3);
	assert_null(emu_fault_find(&f, EMU_FAULT_KILL, EMU_SEND, 0, 16));
	assert_null(emu_fault_find(&f, EMU_FAULT_KILL, EMU_RECV, 1, 16));
	assert_null(emu_fault_find(&f, EMU_FAULT_KILL, EMU_SEND, 1, 15));
	assert_non_null(emu_fault_find(&f, EMU_FAULT_KILL, EMU_SEND, 1, 16));
	assert_non_null(emu_fault_find(&f, EMU_FAULT_NO_CMSG, EMU_RECV, 7, 0));
	assert_int_equal(emu_fault_find(&f, EMU_FAULT_FLIP_BYTE, EMU_RECV, 7, 0)->byte, 9);
	assert_null(emu_fault_find(&f, EMU_FAULT_HALF_OPEN, EMU_RECV, 7, 0));
	/* one that has no number is not every number */
	assert_null(emu_fault_find(&f, EMU_FAULT_KILL, EMU_SEND, 1, EMU_ANY));
	/* nor does it happen to a role that it cannot */
	assert_null(emu_fault_find(&f, EMU_FAULT_NO_CMSG, EMU_SEND, 7, 0));
	assert_true(emu_faults_parse("", 4, &f, why, sizeof(why)) && f.count == 0);
}

TEST(every_fault_has_its_name)
{
	struct emu_faults f;
	char why[200] = "";

	for (unsigned i = 0; i < EMU_FAULT_KINDS; i++) {
		assert_true(emu_faults_parse(emu_fault_name(i), 4, &f, why, sizeof(why)));
		assert_int_equal(f.fault[0].kind, i);
	}
}

TEST(bad_faults_are_named)
{
	static const char *const bad[] = { "kil", "kill:req", "kill:req=", "kill:req=1x",
					   "kill:role=both", "kill:size=1", "kill:req=-1",
					   "kill:re=1",
					   /* what cannot happen */
					   "flip-byte:role=send", "no-cmsg:role=send",
					   "ack-delay:role=recv", "accept-error:role=send",
					   "kill:socket=4", "socket-delay:socket=9",
					   "connect-error:n=0", "connect-error:n=99",
					   "size-larger:n=4294967295", "frag-size:n=4097",
					   "setup-nulls:req=1", "kill:ms=1", "wrong-nic:byte=1" };
	struct emu_faults f;
	char why[200];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (emu_faults_parse(bad[i], 4, &f, why, sizeof(why)))
			fail_msg("%s is taken", bad[i]);
}

TEST(a_fault_that_did_not_happen_is_known)
{
	struct emu_faults f;
	char why[200] = "";
	unsigned i = 0;

	assert_true(emu_faults_parse("kill:req=3;no-cmsg;test-late:n=2", 4, &f, why, sizeof(why)));
	emu_fault_fired(emu_fault_find(&f, EMU_FAULT_NO_CMSG, EMU_RECV, 0, 0));
	assert_string_equal(emu_faults_unfired(&f, &i), "kill:req=3");
	assert_string_equal(emu_faults_unfired(&f, &i), "test-late:n=2");
	assert_null(emu_faults_unfired(&f, &i));
}

/* Any order of legal moves keeps the marks in order, and each request in one state. */
TEST(the_ring_holds_sixteen)
{
	struct emu_ring r = { 0, 0, 0, 0, 0 };
	uint64_t rng = 4;

	for (unsigned i = 0; i < 100000; i++) {
		unsigned in_state[5] = { 0 };

		switch (emu_rng_below(&rng, 5)) {
		case 0:
			r.tail += !emu_ring_full(&r);
			break;
		case 1:
			emu_ring_activate(&r);
			break;
		case 2:
			r.cut += emu_ring_has_active(&r);
			break;
		case 3:
			r.done += emu_ring_has_transmitting(&r);
			break;
		default:
			r.free += r.free < r.done;
		}
		assert_true(r.free <= r.done && r.done <= r.cut && r.cut <= r.active &&
			    r.active <= r.tail && r.tail <= r.free + EMU_REQUESTS);
		for (uint64_t seq = r.free; seq < r.tail; seq++)
			in_state[emu_ring_state(&r, seq)]++;
		assert_int_equal(in_state[EMU_FREE], 0);
		assert_int_equal(in_state[EMU_INACTIVE], r.done - r.free);
		assert_int_equal(in_state[EMU_TRANSMITTING], r.cut - r.done);
		assert_int_equal(in_state[EMU_POSTED], r.tail - r.active);
		assert_int_equal(emu_ring_state(&r, r.tail), EMU_FREE);
	}
}
