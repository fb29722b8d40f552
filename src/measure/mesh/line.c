/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in and out, and the two ends of a connection. */
#include "measure/mesh/line.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/job/stop.h"

enum { STEP = 64 << 10, AGAIN_US = 50 * 1000, SEND_S = 30 };

#define SILENT_NS TCPX_SEC /* a wait that is longer says what it waits for */

int
mesh_line_fill(struct mesh_line *in, int fd)
{
	ssize_t n;

	if (in->len > MESH_LINE_MAX)
		return TCPX_EBLOB;
	if (in->room - in->len < STEP) {
		char *more = realloc(in->text, in->len + 2 * STEP);

		if (!more)
			return -ENOMEM;
		in->text = more;
		in->room = in->len + 2 * STEP;
	}
	n = recv(fd, in->text + in->len, in->room - in->len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	in->len += (size_t)n;
	return 0;
}

int
mesh_line_take(struct mesh_line *in, json_t **msg)
{
	char *end = in->len ? memchr(in->text, '\n', in->len) : NULL;
	size_t used;
	json_t *root;

	if (!end)
		return in->len > MESH_LINE_MAX ? TCPX_EBLOB : -EAGAIN;
	used = (size_t)(end - in->text) + 1;
	root = json_loadb(in->text, used, JSON_REJECT_DUPLICATES, NULL);
	memmove(in->text, in->text + used, in->len - used);
	in->len -= used;
	if (!json_is_object(root)) {
		json_decref(root);
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "rendezvous: a line that is no JSON object");
	}
	*msg = root;
	return 0;
}

void
mesh_line_fini(struct mesh_line *in)
{
	free(in->text);
	*in = (struct mesh_line){ 0 };
}

int
mesh_line_send(int fd, const char *type, json_t *msg)
{
	size_t len, done = 0;
	char *text;
	int rc = 0;

	if (!msg)
		msg = json_object();
	json_object_set_new(msg, "t", json_string(type));
	text = json_dumps(msg, JSON_COMPACT | JSON_REAL_PRECISION(12));
	json_decref(msg);
	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n'; /* replaces the NUL */
	while (!rc && done < len) {
		ssize_t n = send(fd, text + done, len - done, MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			rc = -errno;
	}
	free(text);
	return rc;
}

/* The first address of @host. */
static int
look_up(const char *host, uint16_t port, struct addrinfo **found)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char text[8];

	snprintf(text, sizeof(text), "%u", port);
	return getaddrinfo(host, text, &hints, found) ? -EHOSTUNREACH : 0;
}

int
mesh_listen(const char *host, uint16_t port, int *fd)
{
	struct addrinfo *at;
	struct sockaddr_storage any = { 0 };
	socklen_t len;
	int one = 1, s, rc = look_up(host, port, &at);

	if (rc)
		return tcpx_fail(TCPX_SUB_TOOL, rc, "rendezvous: '%s' has no address", host);
	len = at->ai_addrlen;
	memcpy(&any, at->ai_addr, len);
	freeaddrinfo(at);
	if (any.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&any)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)&any)->sin_addr.s_addr = htonl(INADDR_ANY);
	s = socket(any.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "rendezvous: a socket");
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&any, len) < 0 || listen(s, 1024) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "rendezvous: port %u; another one by"
				     " TCPX_RENDEZVOUS=HOST:PORT or --rendezvous", port);
		close(s);
		return rc;
	}
	*fd = s;
	return 0;
}

static int
connect_once(const char *host, uint16_t port, int *fd)
{
	const struct timeval patience = { SEND_S, 0 };
	struct addrinfo *found;
	int one = 1, s = -1, rc = look_up(host, port, &found);

	if (rc)
		return rc;
	for (struct addrinfo *at = found; at; at = at->ai_next) {
		s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		rc = s < 0 || connect(s, at->ai_addr, at->ai_addrlen) < 0 ? -errno : 0;
		if (!rc)
			break;
		if (s >= 0)
			close(s);
	}
	freeaddrinfo(found);
	if (rc)
		return rc;
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	*fd = s;
	return 0;
}

int
mesh_connect(const char *host, uint16_t port, uint64_t timeout_ms, int *fd)
{
	uint64_t begin = tcpx_clock_now(&tcpx_clock_system), now;
	uint64_t until = begin + timeout_ms * TCPX_MS, tell_at = begin + SILENT_NS;
	int rc;

	while ((rc = connect_once(host, port, fd)) && !perf_stop_asked() &&
	       (now = tcpx_clock_now(&tcpx_clock_system)) < until) {
		if (now >= tell_at) {
			fprintf(stderr, "tcpx perf: waiting for rank 0 at %s port %u (%s; %" PRIu64
				" s)\n", host, port, tcpx_err_text(rc), timeout_ms / 1000);
			tell_at = until; /* once */
		}
		usleep(AGAIN_US);
	}
	if (rc)
		return tcpx_fail(TCPX_SUB_TOOL, rc, "rendezvous: rank 0 at %s port %u", host, port);
	return 0;
}
