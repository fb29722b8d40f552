/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin keeps for a region, of this agent or of another. */
#ifndef NIXL_REGION_H
#define NIXL_REGION_H

#include <memory>

#include "nixl/abi.h"

struct TcpxNixlRegion final : nixlabi::Metadata {
	explicit TcpxNixlRegion(uintptr_t address) : Metadata(true), base(address) {}
	/* Memory of no bytes is none of the library's. */
	bool is_empty() const { return id == 0; }
	uintptr_t base; /* where its owner has it */
	uint64_t id = 0;
};

#endif
