/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting a failure once, and the names of the codes. The names of system errors are our
 * own table: glibc's are either not thread-safe or too new.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define TEXT_BYTES 512
#define TAIL_BYTES 96 /* room in the message for words and name of the code */

static const struct {
	int code;
	const char *name;
	const char *text;
} errs[] = {
#define ERR(name, text) { name, #name, text }
#define SYS(name, text) { -name, #name, text }
	ERR(TCPX_ESTATE, "not allowed in the object's present state"),
	ERR(TCPX_ECONFIG, "a setting has a value that is not allowed"),
	ERR(TCPX_ELIMIT, "a stated limit would be exceeded"),
	ERR(TCPX_EBLOB, "the blob is malformed or of another version"),
	ERR(TCPX_ESTALE, "no live region has this id: it was given back, or never was one"),
	ERR(TCPX_ECANCELED, "cancelled by the caller"),
	ERR(TCPX_EREGION, "a region it used was deregistered"),
	ERR(TCPX_EKEY, "the peer refused the region key or the access right"),
	ERR(TCPX_ERANGE, "a descriptor reaches outside its region"),
	ERR(TCPX_ELENGTH, "the message is longer than the receive"),
	ERR(TCPX_EDATA, "the data check failed"),
	ERR(TCPX_ECHANNEL, "the channel's connection broke"),
	ERR(TCPX_EFRAME, "the channel carried bytes that are not of the protocol"),
	ERR(TCPX_EFENCED, "the peer took the channel down"),
	ERR(TCPX_EPEERGONE, "this incarnation of the peer has gone"),
	ERR(TCPX_ESTALLED, "no progress within the stall deadline"),
	ERR(TCPX_EPROTO, "the peer broke the protocol"),
	ERR(TCPX_EAUTH, "the secret is missing or wrong, or another engine answers"),
	ERR(TCPX_ETIMEDOUT, "the connect or handshake deadline passed"),
	ERR(TCPX_EVERSION, "protocol version, provider or its settings differ from the peer's"),
	ERR(TCPX_ECLOSED, "closed by this side"),
	ERR(TCPX_ENOCHANNEL, "no channel of the session is left"),
	{ 0, "OK", "success" },
	SYS(EPERM, "operation not permitted"),
	SYS(ENOENT, "no such file or object"),
	SYS(ESRCH, "no such process"),
	SYS(EINTR, "interrupted by a signal"),
	SYS(EIO, "input/output error"),
	SYS(ENXIO, "no such device or address"),
	SYS(E2BIG, "argument list too long"),
	SYS(EBADF, "bad file descriptor"),
	SYS(EAGAIN, "not yet; try again"),
	SYS(ENOMEM, "out of memory"),
	SYS(EACCES, "permission denied"),
	SYS(EFAULT, "bad address"),
	SYS(EBUSY, "device or resource busy"),
	SYS(EEXIST, "exists already"),
	SYS(EXDEV, "crosses file systems"),
	SYS(ENODEV, "no such device"),
	SYS(ENOTDIR, "not a directory"),
	SYS(EISDIR, "is a directory"),
	SYS(EINVAL, "invalid argument"),
	SYS(ENFILE, "too many open files in the system"),
	SYS(EMFILE, "too many open files"),
	SYS(ENOTTY, "not supported by this kind of file"),
	SYS(ETXTBSY, "the file is being executed"),
	SYS(EFBIG, "file too large"),
	SYS(ENOSPC, "no space left"),
	SYS(ESPIPE, "the file cannot seek"),
	SYS(EROFS, "read-only file system"),
	SYS(EPIPE, "the other end has closed"),
	SYS(EDOM, "argument outside its domain"),
	SYS(ERANGE, "result out of range"),
	SYS(EDEADLK, "would deadlock"),
	SYS(ENAMETOOLONG, "name too long"),
	SYS(ENOSYS, "the kernel does not have this call"),
	SYS(ENOTEMPTY, "directory not empty"),
	SYS(ELOOP, "too many symbolic links"),
	SYS(ENODATA, "no data"),
	SYS(EPROTO, "protocol error"),
	SYS(EBADMSG, "bad message"),
	SYS(ELIBBAD, "the library is not what it should be"),
	SYS(ENONET, "no network that both sides are on"),
	SYS(EOVERFLOW, "value too large"),
	SYS(EILSEQ, "invalid byte sequence"),
	SYS(ENOTSOCK, "not a socket"),
	SYS(EDESTADDRREQ, "destination address required"),
	SYS(EMSGSIZE, "message too long"),
	SYS(ENOPROTOOPT, "socket option not available"),
	SYS(EPROTONOSUPPORT, "protocol not supported"),
	SYS(EOPNOTSUPP, "operation not supported"),
	SYS(EAFNOSUPPORT, "address family not supported"),
	SYS(EADDRINUSE, "address in use"),
	SYS(EADDRNOTAVAIL, "address not of this machine"),
	SYS(ENETDOWN, "network is down"),
	SYS(ENETUNREACH, "network unreachable"),
	SYS(ECONNABORTED, "connection aborted"),
	SYS(ECONNRESET, "connection reset by the peer"),
	SYS(ENOBUFS, "not enough buffer space"),
	SYS(EISCONN, "connected already"),
	SYS(ENOTCONN, "not connected"),
	SYS(ESHUTDOWN, "the other end has shut down"),
	SYS(ETIMEDOUT, "connection timed out"),
	SYS(ECONNREFUSED, "connection refused"),
	SYS(EHOSTDOWN, "host is down"),
	SYS(EHOSTUNREACH, "no route to host"),
	SYS(EALREADY, "in progress already"),
	SYS(EINPROGRESS, "now in progress"),
	SYS(ESTALE, "stale file handle"),
	SYS(ECANCELED, "cancelled"),
#undef SYS
#undef ERR
};

#define ERR_COUNT (sizeof(errs) / sizeof(errs[0]))

static _Thread_local char unlisted[24];
static _Thread_local char last[TEXT_BYTES];

static size_t
err_find(int code)
{
	size_t i = 0;

	while (i < ERR_COUNT && errs[i].code != code)
		i++;
	return i;
}

bool
tcpx_err_known(int code)
{
	return err_find(code) < ERR_COUNT;
}

const char *
tcpx_err_name(int code)
{
	size_t i = err_find(code);

	if (i < ERR_COUNT)
		return errs[i].name;
	if (code < 0 && code > TCPX_ESTATE)
		snprintf(unlisted, sizeof(unlisted), "errno %d", -code);
	else
		snprintf(unlisted, sizeof(unlisted), "code %d", code);
	return unlisted;
}

const char *
tcpx_err_text(int code)
{
	size_t i = err_find(code);

	return i < ERR_COUNT ? errs[i].text : tcpx_err_name(code);
}

enum tcpx_err_group
tcpx_err_group_of(int code)
{
	if (code >= 0)
		return TCPX_GROUP_OK;
	if (code > -1000)
		return TCPX_GROUP_SYSTEM;
	if (code > -1100)
		return TCPX_GROUP_CALL;
	if (code > -1200)
		return TCPX_GROUP_TRANSFER;
	if (code > -1300)
		return TCPX_GROUP_CHANNEL;
	return TCPX_GROUP_SESSION;
}

/* Keeps "text: words (NAME)", or "text (NAME)" without words; a text of an earlier failure that
 * is passed on has its name. */
static void __attribute__((format(printf, 3, 0)))
keep(int code, const char *words, const char *fmt, va_list args)
{
	char text[TEXT_BYTES], name[64]; /* a local buffer: args may point into last itself */
	size_t len, name_len;

	vsnprintf(text, sizeof(text) - TAIL_BYTES, fmt, args);
	len = strlen(text);
	name_len = (size_t)snprintf(name, sizeof(name), "(%s)", tcpx_err_name(code));
	if (len < name_len || strcmp(text + len - name_len, name) != 0)
		snprintf(text + len, sizeof(text) - len, "%s%s %s", words ? ": " : "",
			 words ? words : "", name);
	tcpx_text_show(last, sizeof(last), text); /* it may quote a peer */
}

int
tcpx_fail(enum tcpx_subsys subsys, int code, const char *fmt, ...)
{
	va_list args;

	if (code == -EAGAIN)
		return code;
	va_start(args, fmt);
	keep(code, NULL, fmt, args);
	va_end(args);
	tcpx_warn(subsys, "%s", last);
	return code;
}

int
tcpx_fail_known(int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep(code, NULL, fmt, args);
	va_end(args);
	return code;
}

int
tcpx_fail_errno(enum tcpx_subsys subsys, const char *fmt, ...)
{
	int code = -errno;
	va_list args;

	if (code == -EAGAIN)
		return code;
	va_start(args, fmt);
	keep(code, tcpx_err_text(code), fmt, args);
	va_end(args);
	tcpx_warn(subsys, "%s", last);
	return code;
}

void
tcpx_err_last(char *buf, size_t cap)
{
	if (cap)
		snprintf(buf, cap, "%s", last);
}
