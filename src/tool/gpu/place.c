/* SPDX-License-Identifier: Apache-2.0 */
/* Places of memory in text form. A list of GPUs reads like a list of CPUs. */
#include "tool/gpu/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset.h"

const char place_allowed[] = "allowed are host, cuda, cuda:N and lists of up to 16 GPUs:"
			     " cuda:0-3, cuda:0,2";

int
place_parse(const char *text, struct place *place)
{
	struct place found = { 0 };
	struct tcpx_cpuset set;

	if (strcmp(text, "host") && strcmp(text, "cuda") && strncmp(text, "cuda:", 5))
		return -EINVAL;
	if (!strcmp(text, "cuda"))
		found.gpus = 1;
	if (text[0] == 'c' && text[4]) {
		if (tcpx_cpuset_parse(text + 5, &set) || tcpx_cpuset_count(&set) > PLACE_GPUS)
			return -EINVAL;
		tcpx_cpuset_for_each(gpu, &set)
			found.gpu[found.gpus++] = gpu;
	}
	*place = found;
	return 0;
}

const char *
place_format(const struct place *place, char buf[PLACE_TEXT])
{
	struct tcpx_cpuset set;
	char list[PLACE_TEXT - 8];

	tcpx_cpuset_init(&set);
	for (unsigned i = 0; i < place->gpus; i++)
		(void)tcpx_cpuset_add(&set, place->gpu[i]);
	tcpx_cpuset_format(&set, list, sizeof(list));
	snprintf(buf, PLACE_TEXT, place->gpus ? "cuda:%s" : "host", list);
	return buf;
}
