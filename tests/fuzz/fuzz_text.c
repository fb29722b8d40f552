/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes and CPU sets as people write them: what is read reads the same again. */
#include "base/cpuset.h"
#include "base/parse.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

FUZZ_QUIETLY

static void
cpusets(const char *text)
{
	static char list[65536];
	struct tcpx_cpuset set, again;

	if (tcpx_cpuset_parse(text, &set) == 0) {
		promise(tcpx_cpuset_format(&set, list, sizeof(list)) < sizeof(list));
		promise(tcpx_cpuset_parse(list, &again) == 0 && tcpx_cpuset_equal(&set, &again));
	}
	if (tcpx_cpuset_parse_mask(text, &set) == 0) {
		promise(tcpx_cpuset_format_mask(&set, list, sizeof(list)) < sizeof(list));
		promise(tcpx_cpuset_parse_mask(list, &again) == 0 &&
			tcpx_cpuset_equal(&set, &again));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	uint64_t v, again;
	char size[24];

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	tcpx_parse_count(text, &v);
	tcpx_parse_ms(text, &v);
	if (tcpx_parse_size(text, &v) == 0)
		promise(tcpx_parse_size(tcpx_format_size(v, size, sizeof(size)), &again) == 0 &&
			v == again);
	cpusets(text);
	free(text);
	return 0;
}
