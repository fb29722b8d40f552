/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one value that may be missing. */
#include "host/maybe.h"

#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "host/io.h"

#define LIST_BYTES 40960 /* every second of 8192 CPUs */

const char *
tcpx_maybe_why(int code)
{
	switch (code) {
	case 0:
		return NULL;
	case -ENOENT:
		return "no such file";
	case -EACCES:
	case -EPERM:
		return "not permitted";
	case -EOPNOTSUPP:
		return "not supported by the driver";
	case -ENODEV:
		return "the interface is gone";
	case -EINVAL:
		return "malformed, or not given now";
	default:
		return tcpx_err_text(code);
	}
}

struct tcpx_maybe
tcpx_maybe_number(const char *root, const char *path)
{
	long long v = 0;
	int rc = tcpx_io_read_number(root, path, &v);

	return (struct tcpx_maybe){ v, tcpx_maybe_why(rc) };
}

static void
read_set(const char *root, const char *path, int (*parse)(const char *, struct tcpx_cpuset *),
	 struct tcpx_maybe_set *set)
{
	char text[LIST_BYTES];
	int rc;

	tcpx_cpuset_init(&set->cpus);
	rc = tcpx_io_read(root, path, text, sizeof(text));
	if (rc > 0)
		rc = parse(text, &set->cpus);
	set->why = tcpx_maybe_why(rc);
}

void
tcpx_maybe_list(const char *root, const char *path, struct tcpx_maybe_set *set)
{
	read_set(root, path, tcpx_cpuset_parse, set);
}

void
tcpx_maybe_mask(const char *root, const char *path, struct tcpx_maybe_set *set)
{
	read_set(root, path, tcpx_cpuset_parse_mask, set);
}
