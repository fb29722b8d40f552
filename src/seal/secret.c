/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secret's files. Key and identity are derived from the content, with the newlines at its end
 * cut off; the content itself is wiped before the open returns.
 */
#include "seal/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "seal/tls.h"
#include "seal/tls_lib.h"

#define SECRET_MIN 16
#define SECRET_MAX 4096
#define ID_BYTES   16 /* of the identity, which everybody sees */

static const char *
kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a pipe";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "no file";
	}
}

/* Engines of one process say it once. */
static void
warn_of_readers(const char *path, mode_t mode)
{
	char text[512];

	snprintf(text, sizeof(text), "TCPX_SECRET_FILE %s can be read by %s (mode %04o): chmod 600",
		 path, mode & S_IROTH ? "every user" : "its group", mode & 07777);
	if (mode & (S_IRGRP | S_IROTH) && tcpx_log_on(TCPX_LOG_WARN, TCPX_SUB_INIT) &&
	    tcpx_log_once(text))
		tcpx_warn(TCPX_SUB_INIT, "%s", text);
}

/* Reads one byte more than is allowed, if there is one. */
static int
read_all(int fd, const char *path, uint8_t *secret, size_t *len)
{
	ssize_t n = 1;

	*len = 0;
	while (n > 0 && *len <= SECRET_MAX) {
		n = read(fd, secret + *len, SECRET_MAX + 1 - *len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return tcpx_fail_errno(TCPX_SUB_INIT, "read TCPX_SECRET_FILE %s", path);
		else
			*len += (size_t)n;
	}
	return 0;
}

static int
read_secret(const char *path, uint8_t *secret, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc;

	if (fd < 0)
		return tcpx_fail_errno(TCPX_SUB_INIT, "open TCPX_SECRET_FILE %s", path);
	if (fstat(fd, &st) < 0)
		rc = tcpx_fail_errno(TCPX_SUB_INIT, "look at TCPX_SECRET_FILE %s", path);
	else if (!S_ISREG(st.st_mode))
		rc = tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
			       "TCPX_SECRET_FILE %s is %s, a regular file is needed", path,
			       kind_of(st.st_mode));
	else
		rc = read_all(fd, path, secret, len);
	close(fd);
	if (rc)
		return rc;
	warn_of_readers(path, st.st_mode);
	if (*len > SECRET_MAX)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE %s holds more than %d bytes", path, SECRET_MAX);
	while (*len > 0 && (secret[*len - 1] == '\n' || secret[*len - 1] == '\r'))
		(*len)--;
	if (*len < SECRET_MIN)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE %s holds %zu bytes, at least %d are needed", path,
				 *len, SECRET_MIN);
	return 0;
}

/* HKDF-Extract (RFC 5869) with a salt for each purpose. */
static int
derive(const struct tcpx_seal_lib *lib, const uint8_t *secret, size_t len, struct tcpx_seal_psk *psk)
{
	uint8_t id[32];
	int rc = tcpx_tls_lib_mac(lib, "tcpx-p2p psk", secret, len, psk->key);

	if (rc == 0)
		rc = tcpx_tls_lib_mac(lib, "tcpx-p2p id", secret, len, id);
	if (rc)
		return rc;
	memcpy(psk->id, id, ID_BYTES);
	psk->id_len = ID_BYTES;
	return 0;
}

static int
read_key(const struct tcpx_seal_lib *lib, const char *path, struct tcpx_seal_psk *psk)
{
	uint8_t secret[SECRET_MAX + 1];
	size_t len = 0;
	int rc = read_secret(path, secret, &len);

	if (rc == 0)
		rc = derive(lib, secret, len, psk);
	explicit_bzero(secret, sizeof(secret));
	return rc;
}

/* The keys of "PATH" or "PATH,PATH2"; @files is cut up. */
static int
read_keys(struct tcpx_secret *s, char *files)
{
	int rc = 0;

	for (char *path = files; path && rc == 0; s->count++) {
		char *comma = strchr(path, ',');

		if (comma)
			*comma = '\0';
		if (!*path || s->count == sizeof(s->psk) / sizeof(s->psk[0]))
			return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_SECRET_FILE has %s, one "
					 "file or two with a comma between are allowed",
					 *path ? "three files" : "an empty name");
		rc = read_key(s->lib, path, &s->psk[s->count]);
		path = comma ? comma + 1 : NULL;
	}
	return rc;
}

int
tcpx_secret_open(const char *files, struct tcpx_secret **out)
{
	struct tcpx_secret *s = calloc(1, sizeof(*s));
	char *names = strdup(files);
	int rc = s && names ? 0 : -ENOMEM;

	if (rc == 0)
		rc = tcpx_tls_lib_open(&s->lib);
	if (rc == 0) {
		s->ops = &tcpx_seal_tls_ops;
		rc = read_keys(s, names);
	}
	free(names);
	if (rc) {
		tcpx_secret_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void
tcpx_secret_close(struct tcpx_secret *s)
{
	if (!s)
		return;
	tcpx_tls_lib_close(s->lib);
	explicit_bzero(s, sizeof(*s));
	free(s);
}
