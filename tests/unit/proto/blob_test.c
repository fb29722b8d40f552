/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs: what is written is read; a blob with any bit flipped, any byte missing or one
 * too many is refused, with a reason.
 */
#include "base_test.h"
#include "proto/blob.h"

static const struct tcpx_region_blob region = {
	.id = 0x0123456789abcdef, .key = "sixteen bytes k", .addr = 0x7f0000001000,
	.len = 320ull << 20, .access = 3, .kind = 0,
};

static struct tcpx_endpoint_blob
endpoint_of(uint16_t nics)
{
	struct tcpx_endpoint_blob e = { .name = "node-7:1234", .incarnation = 99,
					.nic_count = nics };

	for (uint16_t i = 0; i < nics && i < TCPX_NICS_MAX; i++) {
		struct tcpx_hello_nic *n = &e.nic[i];

		snprintf(n->offer.name, sizeof(n->offer.name), "a-network-card-named-%u", i);
		n->addr = (struct tcpx_addr){ .family = i % 2 ? 6 : 4, .prefix = 24,
						  .ip = { 10, 1, 2, 3 } };
		n->addr.port = (uint16_t)(28515 + i);
		n->addr.scope = i;
	}
	return e;
}

static size_t
write_region(uint8_t *room, size_t cap, const struct tcpx_region_blob *r)
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, cap);
	tcpx_region_blob_write(&b, r);
	return b.bad ? 0 : b.pos;
}

static size_t
write_endpoint(uint8_t *room, size_t cap, const struct tcpx_endpoint_blob *e)
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, cap);
	tcpx_endpoint_blob_write(&b, e);
	return b.bad ? 0 : b.pos;
}

/* From memory of exactly that size, so that ASan sees every byte too far. */
static int
read_region(const uint8_t *data, size_t len, struct tcpx_region_blob *r)
{
	uint8_t *exact = malloc(len ? len : 1);
	struct tcpx_buf b;
	int rc;

	memcpy(exact, data, len);
	tcpx_buf_init_const(&b, exact, len);
	rc = tcpx_region_blob_read(&b, r);
	free(exact);
	return rc;
}

static int
read_endpoint(const uint8_t *data, size_t len, struct tcpx_endpoint_blob *e)
{
	uint8_t *exact = malloc(len ? len : 1);
	struct tcpx_buf b;
	int rc;

	memcpy(exact, data, len);
	tcpx_buf_init_const(&b, exact, len);
	rc = tcpx_endpoint_blob_read(&b, e);
	free(exact);
	return rc;
}

TEST(region_is_read_as_written)
{
	uint8_t room[TCPX_BLOB_MAX];
	struct tcpx_region_blob r;
	size_t len = write_region(room, sizeof(room), &region);

	assert_int_equal(len, 52);
	assert_int_equal(read_region(room, len, &r), 0);
	assert_int_equal(r.id, region.id);
	assert_memory_equal(r.key, region.key, TCPX_KEY_BYTES);
	assert_int_equal(r.addr, region.addr);
	assert_int_equal(r.len, region.len);
	assert_int_equal(r.access, region.access);
	assert_int_equal(r.kind, region.kind);
}

TEST(endpoint_is_read_as_written)
{
	for (uint16_t nics = 0; nics <= TCPX_NICS_MAX; nics += 4) {
		struct tcpx_endpoint_blob e = endpoint_of(nics), got;
		uint8_t room[4096];
		size_t len = write_endpoint(room, sizeof(room), &e);

		assert_true(len > 0);
		assert_int_equal(read_endpoint(room, len, &got), 0);
		assert_string_equal(got.name, e.name);
		assert_int_equal(got.incarnation, e.incarnation);
		assert_int_equal(got.nic_count, nics);
		for (uint16_t i = 0; i < nics; i++) {
			assert_string_equal(got.nic[i].offer.name, e.nic[i].offer.name);
			assert_memory_equal(&got.nic[i].addr, &e.nic[i].addr,
					    sizeof(e.nic[i].addr));
		}
	}
}

TEST(what_does_not_fit_is_not_written)
{
	struct tcpx_endpoint_blob e = endpoint_of(TCPX_NICS_MAX + 1);
	uint8_t room[4096];

	assert_int_equal(write_region(room, 51, &region), 0);
	assert_int_equal(write_endpoint(room, sizeof(room), &e), 0);
	e.nic_count = 4;
	assert_int_equal(write_endpoint(room, 100, &e), 0);
}

TEST(any_flipped_bit_is_refused)
{
	struct tcpx_endpoint_blob e = endpoint_of(3), got;
	struct tcpx_region_blob r = { .id = 5 };
	uint8_t room[4096];
	size_t len = write_region(room, sizeof(room), &region);

	for (size_t bit = 0; bit < 8 * len; bit++) {
		room[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(read_region(room, len, &r), TCPX_EBLOB);
		room[bit / 8] ^= 1u << bit % 8;
	}
	assert_int_equal(r.id, 5);
	len = write_endpoint(room, sizeof(room), &e);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		room[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(read_endpoint(room, len, &got), TCPX_EBLOB);
		room[bit / 8] ^= 1u << bit % 8;
	}
}

TEST(any_other_length_is_refused)
{
	struct tcpx_endpoint_blob e = endpoint_of(3), got;
	struct tcpx_region_blob r;
	uint8_t room[4096];
	size_t len = write_region(room, sizeof(room) - 1, &region);

	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(read_region(room, cut, &r), TCPX_EBLOB);
	assert_int_equal(read_region(room, len + 1, &r), TCPX_EBLOB);
	len = write_endpoint(room, sizeof(room) - 1, &e);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(read_endpoint(room, cut, &got), TCPX_EBLOB);
	assert_int_equal(read_endpoint(room, len + 1, &got), TCPX_EBLOB);
}

static const struct {
	const char *name;
	struct tcpx_region_blob blob;
} wrong_regions[] = {
	{ "length 0", { .id = 1, .len = 0 } },
	{ "wraps", { .id = 1, .addr = UINT64_MAX, .len = 2 } },
	{ "unknown access bit", { .id = 1, .len = 1, .access = 4 } },
};

TEST(fields_are_checked_too)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong_regions); i++) {
		uint8_t room[TCPX_BLOB_MAX];
		struct tcpx_region_blob r;
		size_t len = write_region(room, sizeof(room), &wrong_regions[i].blob);

		check(wrong_regions[i].name, "rc", read_region(room, len, &r), TCPX_EBLOB);
	}
}

TEST(reason_is_named)
{
	struct tcpx_endpoint_blob e = endpoint_of(1);
	struct tcpx_region_blob r;
	uint8_t room[4096];
	char text[256];
	size_t len = write_endpoint(room, sizeof(room), &e);

	read_region(room, len, &r);
	tcpx_err_last(text, sizeof(text));
	check_has(text, "no region blob");
	len = write_region(room, sizeof(room), &region);
	room[5] = 9;
	read_region(room, len, &r);
	tcpx_err_last(text, sizeof(text));
	check_has(text, "of version 9; this is version 1");
	room[5] = 1;
	read_region(room, len - 1, &r);
	tcpx_err_last(text, sizeof(text));
	check_has(text, "51 bytes was changed or cut");
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return run_cases(NULL, NULL);
}
