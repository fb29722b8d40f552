/* SPDX-License-Identifier: Apache-2.0 */
/* TCPX_MAP: what is read stays within its bounds and reads the same again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "proto/netmap.h"

FUZZ_QUIETLY

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tcpx_netmap_rules rules, again;
	char *text = malloc(len + 1), out[8192];

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (tcpx_netmap_parse(text, &rules) == 0) {
		promise(rules.count <= TCPX_NETMAP_ENTRIES);
		for (uint32_t i = 0; i < rules.count; i++)
			promise(rules.entry[i].gpu < TCPX_NETMAP_GPUS && rules.entry[i].nic[0] &&
				memchr(rules.entry[i].nic, 0, TCPX_NETMAP_NAME));
		promise(tcpx_netmap_format(&rules, out, sizeof(out)) < sizeof(out));
		promise(tcpx_netmap_parse(out, &again) == 0 &&
			!memcmp(&rules, &again, sizeof(rules)));
	}
	free(text);
	return 0;
}
