/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only REMOTE_DISCONNECT does something in NIXL: its agent drops all it knows of the peer. So it
 * stands for a lost session, and for nothing that another attempt may cure.
 */
#include "nixl/codes.h"

#include <cerrno>

#include "tcpx/tcpx.h"

using namespace nixlabi;

namespace {

struct row {
	int code;
	Status status;
};

const row table[] = {
	{ 0, SUCCESS },
	{ -EAGAIN, IN_PROG },
	/* the call */
	{ -EINVAL, INVALID_PARAM },
	{ TCPX_ERANGE, INVALID_PARAM },
	{ -ENOENT, NOT_FOUND },
	{ TCPX_ESTALE, NOT_FOUND },
	{ TCPX_EBLOB, MISMATCH },
	{ -EALREADY, REPOST_ACTIVE },
	{ -ENOTSUP, NOT_SUPPORTED },
	{ -EXDEV, NOT_SUPPORTED }, /* a list with memory of two GPUs */
	/* one transfer */
	{ TCPX_ECANCELED, CANCELED },
	/* the session, for good */
	{ TCPX_EPEERGONE, REMOTE_DISCONNECT },
	{ TCPX_ECLOSED, REMOTE_DISCONNECT },
	{ TCPX_ESTALLED, REMOTE_DISCONNECT },
	{ TCPX_ENOCHANNEL, REMOTE_DISCONNECT },
	{ TCPX_EPROTO, REMOTE_DISCONNECT },
	/* the handshake said no */
	{ TCPX_EAUTH, NOT_ALLOWED },
	{ TCPX_EVERSION, MISMATCH },
};

} /* namespace */

/* Every other failure is this side's, the transfer's, or a peer's that never answered. */
Status
tcpx_nixl_status(int code)
{
	for (const row &r : table)
		if (r.code == code)
			return r.status;
	return BACKEND;
}
