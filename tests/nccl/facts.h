/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and offsets of NCCL's interface: facts.inc is built twice, once with NCCL's headers, once
 * with our declarations, as their names cannot stand beside each other.
 */
#ifndef TESTS_NCCL_FACTS_H
#define TESTS_NCCL_FACTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fact {
	const char *what;
	size_t value;
};

extern const struct fact their_facts[], our_facts[];
extern const size_t their_facts_count, our_facts_count;

#ifdef __cplusplus
}
#endif

#endif
