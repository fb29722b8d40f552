/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/environ.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* setenv() may free the table that another thread's getenv() walks through. So a longer copy takes
 * the table's place, and the old one stays: a few hundred bytes a setting. No checker of leaks reports them,
 * since each is behind the end of the next. */
int
tcpx_nccl_environ_add(char *setting)
{
	static char **newest;
	size_t name = strcspn(setting, "="), count = 0;
	char **table;

	for (; environ && environ[count]; count++)
		if (!strncmp(environ[count], setting, name + 1))
			return 0;
	table = malloc((count + 3) * sizeof(*table));
	if (!table)
		return -ENOMEM;
	if (count)
		memcpy(table, environ, count * sizeof(*table));
	table[count] = setting;
	table[count + 1] = NULL;
	table[count + 2] = (char *)newest;
	newest = table;
	__atomic_store_n(&environ, table, __ATOMIC_RELEASE);
	return 1;
}
