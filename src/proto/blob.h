/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two blobs that applications carry between engines: the addresses of an engine, and
 * the name of a region. Both begin with magic and version. They end with a 32-bit check,
 * because applications may damage them on the way.
 */
#ifndef PROTO_BLOB_H
#define PROTO_BLOB_H

#include <stdint.h>

#include "proto/frame.h"
#include "proto/runs.h"

struct tcpx_endpoint_blob {
	char name[TCPX_NAME_MAX];
	uint64_t incarnation;
	uint16_t nic_count;
	struct tcpx_hello_nic nic[TCPX_NICS_MAX]; /* with ports */
};

struct tcpx_region_blob {
	uint64_t id;
	uint8_t key[TCPX_KEY_BYTES];
	uint64_t addr, len;
	uint8_t access; /* enum tcpx_mem_access */
	uint8_t kind;   /* 0 host memory        */
};

void tcpx_endpoint_blob_write(struct tcpx_buf *b, const struct tcpx_endpoint_blob *e);
int tcpx_endpoint_blob_read(struct tcpx_buf *b, struct tcpx_endpoint_blob *e); /* TCPX_EBLOB */
void tcpx_region_blob_write(struct tcpx_buf *b, const struct tcpx_region_blob *r);
int tcpx_region_blob_read(struct tcpx_buf *b, struct tcpx_region_blob *r); /* TCPX_EBLOB */

#endif
