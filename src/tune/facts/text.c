/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/facts/text.h"

#include <errno.h>
#include <string.h>

#include "host/io.h"

int
tcpx_host_text_read(const char *root, const char *path, char *buf, size_t cap)
{
	return tcpx_io_read(root, path, buf, cap);
}

int
tcpx_host_tail_read(const char *root, const char *path, char *buf, size_t cap)
{
	return tcpx_io_tail(root, path, buf, cap);
}

int
tcpx_host_names_read(const char *root, const char *dir, char *buf, size_t cap)
{
	struct tcpx_io_names names;
	size_t len = 0;
	int rc;

	rc = tcpx_io_list(root, dir, &names);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < names.count && rc == 0; i++) {
		size_t n = strlen(names.entry[i]->d_name) + 1;

		if (n > cap - len) {
			rc = -EFBIG;
			break;
		}
		memcpy(buf + len, names.entry[i]->d_name, n);
		len += n;
	}
	tcpx_io_names_free(&names);
	if (rc < 0)
		return rc;
	if (len >= cap)
		return -EFBIG;
	buf[len] = '\0';
	return (int)len;
}
