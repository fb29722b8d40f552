/* SPDX-License-Identifier: Apache-2.0 */
/* Compares our declarations of NCCL's net plugins with the headers of a NCCL source tree, from 2.30 on.
 * Built and run by `ninja nccl-headers` where -Dnccl_headers names a tree. */
#include <stdio.h>
#include <string.h>

#include "facts.h"

int
main(void)
{
	int wrong = their_facts_count != our_facts_count;

	for (size_t i = 0; i < our_facts_count && i < their_facts_count; i++) {
		if (!strcmp(our_facts[i].what, their_facts[i].what) &&
		    our_facts[i].value == their_facts[i].value)
			continue;
		printf("%s: NCCL has %zu, we have %zu\n", their_facts[i].what, their_facts[i].value,
		       our_facts[i].value);
		wrong++;
	}
	printf("%zu sizes, offsets and numbers compared, %d wrong\n", our_facts_count, wrong);
	return wrong != 0;
}
