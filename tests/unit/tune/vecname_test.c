/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a vector, by the names that drivers give and by their order. */
#include "../base/base_test.h"

#include "tune/facts/vecname.h"

static const struct {
	const char *driver, *name;
	int kind; /* -1: says nothing, -2: a block */
	int index;
} names[] = {
	{ "gve", "gve-ntfy-blk0@pci:0000:06:00.0", -2, 0 },
	{ "gve", "gve-ntfy-blk31@pci:0000:06:00.0", -2, 31 },
	{ "gve", "eth1-ntfy-block.3", -2, 3 },
	{ "gve", "gve-mgmnt@pci:0000:06:00.0", TCPX_VECTOR_MGMT, -1 },
	{ "gve", "eth1-mgmnt", TCPX_VECTOR_MGMT, -1 },
	{ "mlx5_core", "mlx5_comp7@pci:0000:41:00.0", TCPX_VECTOR_TXRX, 7 },
	{ "mlx5_core", "mlx5_combined2", TCPX_VECTOR_TXRX, 2 },
	{ "mlx5_core", "mlx5_async0@pci:0000:41:00.0", TCPX_VECTOR_MGMT, -1 },
	{ "bnxt_en", "eth0-TxRx-4", TCPX_VECTOR_TXRX, 4 },
	{ "bnxt_en", "eth0-rx-4", TCPX_VECTOR_RX, 4 },
	{ "bnxt_en", "eth0-tx-4", TCPX_VECTOR_TX, 4 },
	{ "bnxt_en", "enp202s0f0np0-TxRx-", -1, 0 },
	{ "bnxt_en", "enp202s0f0np0-Tx", -1, 0 },
	{ "ice", "ice-eth0-TxRx-12", TCPX_VECTOR_TXRX, 12 },
	{ "ice", "ice-0000:3b:00.0:misc", TCPX_VECTOR_MGMT, -1 },
	{ "i40e", "i40e-eth0-TxRx-2-3", TCPX_VECTOR_TXRX, 2 },
	{ "idpf", "idpf-eth0-TxRx-5", TCPX_VECTOR_TXRX, 5 },
	{ "idpf", "idpf-0000:00:04.0-Mailbox-0", TCPX_VECTOR_MGMT, -1 },
	{ "ena", "ens5-Tx-Rx-6", TCPX_VECTOR_TXRX, 6 },
	{ "ena", "ena-mgmnt@pci:0000:00:05.0", TCPX_VECTOR_MGMT, -1 },
	{ "virtio_net", "virtio2-input.0", TCPX_VECTOR_RX, 0 },
	{ "virtio_net", "virtio2-output.3", TCPX_VECTOR_TX, 3 },
	{ "virtio_net", "virtio2-config", TCPX_VECTOR_MGMT, -1 },
	{ "virtio_net", "virtio2-control", TCPX_VECTOR_MGMT, -1 },
	{ "mana", "mana_q3@pci:7870:00:00.0", TCPX_VECTOR_TXRX, 3 },
	{ "mana", "mana_hwc@pci:7870:00:00.0", TCPX_VECTOR_MGMT, -1 },
	{ "vmxnet3", "ens160-rxtx-2", TCPX_VECTOR_TXRX, 2 },
	{ "vmxnet3", "ens160-rx-2", TCPX_VECTOR_RX, 2 },
	{ "vmxnet3", "ens160-event-4", TCPX_VECTOR_MGMT, -1 },
	{ "bnx2x", "eth0-fp-5", TCPX_VECTOR_TXRX, 5 },
	{ "bnx2x", "eth0", -1, 0 },
	{ "tg3", "eth0-txrx-1", TCPX_VECTOR_TXRX, 1 },
	{ "tg3", "eth0-tx-1", TCPX_VECTOR_TX, 1 },
	{ "nfp", "nfp-eth0-rxtx-7", TCPX_VECTOR_TXRX, 7 },
	{ "atlantic", "eth0-3", -1, 0 },
	{ "ice", "eth0-fp-5", -1, 0 },
	{ "", "virtio2-input.1", TCPX_VECTOR_RX, 1 },
	{ "ice", "virtio2-input.1", -1, 0 }, /* a name of another driver's */
	{ "ena", "mlx5_comp7", -1, 0 },
	{ "unheard_of", "eth0-TxRx-1", TCPX_VECTOR_TXRX, 1 },
	{ "unheard_of", "eth0", -1, 0 },
	{ "", "", -1, 0 },
	{ "virtio_net", "virtio2-input.", -1, 0 },
	{ "virtio_net", "virtio2-input.x", -1, 0 },
	{ "virtio_net", "virtio2-input.1x", -1, 0 },
	{ "virtio_net", "virtio2-input.99999999999999999999", -1, 0 },
	{ "virtio_net", "virtio2-input.-1", -1, 0 },
	{ "virtio_net", "nvme0, virtio2-output.3", TCPX_VECTOR_TX, 3 }, /* shared */
	{ "virtio_net", "virtio2-output.3, nvme0", TCPX_VECTOR_TX, 3 },
};

TEST(names_say_what_they_serve)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct tcpx_vecname got = { .index = -9 };
		bool says = tcpx_vecname_parse(names[i].driver, names[i].name, &got);

		check(names[i].name, "says", says, names[i].kind != -1);
		if (!says)
			continue;
		check(names[i].name, "block", got.block, names[i].kind == -2);
		check(names[i].name, "index", got.index, names[i].index);
		if (names[i].kind >= 0)
			check(names[i].name, "kind", got.kind, names[i].kind);
	}
}

static struct tcpx_nic_vector v[64];

static void
fill(unsigned count, const char *format)
{
	for (unsigned i = 0; i < count; i++) {
		v[i].v = (struct tcpx_machine_vector){ .irq = 100 + i,
						       .source = TCPX_VECTOR_NOT };
		snprintf(v[i].v.name, sizeof(v[i].v.name), "%s%u", format, i);
		if (!*format)
			v[i].v.name[0] = '\0';
	}
}

static void
check_gve(enum tcpx_vector_source source)
{
	for (int i = 0; i < 33; i++) {
		const char *name = i < 16 ? "tx" : i < 32 ? "rx" : "mgmt";

		check_text(name, tcpx_vector_kind_name(v[i].v.kind), name);
		check(name, "queue", v[i].v.queue, i < 32 ? i % 16 : -1);
		check(name, "source", v[i].v.source, source);
	}
}

TEST(blocks_of_gve_are_split)
{
	fill(32, "gve-ntfy-blk");
	v[32].v = (struct tcpx_machine_vector){ .irq = 132, .source = TCPX_VECTOR_NOT,
					      .name = "gve-mgmnt@pci:0000:06:00.0" };
	tcpx_vectors_map("gve", v, 33);
	check_gve(TCPX_VECTOR_NAME);
	fill(33, "");
	tcpx_vectors_map("gve", v, 33);
	check_gve(TCPX_VECTOR_ORDER);
}

TEST(queues_of_tg3_count_from_one)
{
	fill(4, "eth0-txrx-");
	strcpy(v[0].v.name, "eth0");
	tcpx_vectors_map("tg3", v, 4);
	check("the link's", "kind", v[0].v.kind, TCPX_VECTOR_UNKNOWN);
	for (int i = 1; i < 4; i++)
		check(v[i].v.name, "queue", v[i].v.queue, i - 1);
	fill(2, "eth0-fp-");
	tcpx_vectors_map("bnx2x", v, 2);
	check("another's", "queue", v[0].v.queue, 0);
}

TEST(nothing_is_guessed)
{
	fill(3, "gve-ntfy-blk"); /* not even: which half is which? */
	tcpx_vectors_map("gve", v, 3);
	check("odd", "source", v[0].v.source, TCPX_VECTOR_NOT);
	fill(32, ""); /* one is missing */
	tcpx_vectors_map("gve", v, 32);
	check("even", "source", v[0].v.source, TCPX_VECTOR_NOT);
	fill(33, ""); /* another driver has another order */
	tcpx_vectors_map("ice", v, 33);
	check("ice", "source", v[0].v.source, TCPX_VECTOR_NOT);
	check("ice", "queue", v[0].v.queue, -1);
	fill(3, "strange");
	tcpx_vectors_map("gve", v, 3);
	check("strange", "kind", v[0].v.kind, TCPX_VECTOR_UNKNOWN);
	tcpx_vectors_map("gve", v, 0);
}

TEST(channels_of_mlx5_may_begin_with_1)
{
	fill(9, "mlx5_comp");
	tcpx_vectors_map("mlx5_core", v + 1, 8);
	check("first", "queue", v[1].v.queue, 0);
	check("last", "queue", v[8].v.queue, 7);
	tcpx_vectors_map("mlx5_core", v, 9);
	check("from 0", "queue", v[8].v.queue, 8);
}

TEST(what_the_kernel_said_stays)
{
	fill(2, "virtio0-input.");
	v[1].v = (struct tcpx_machine_vector){ .irq = 5, .source = TCPX_VECTOR_NETDEV,
					       .queue = 9, .kind = TCPX_VECTOR_TX,
					       .name = "virtio0-input.1" };
	tcpx_vectors_map("virtio_net", v, 2);
	check("said", "queue", v[1].v.queue, 9);
	check("said", "kind", v[1].v.kind, TCPX_VECTOR_TX);
	check("named", "source", v[0].v.source, TCPX_VECTOR_NAME);
}
