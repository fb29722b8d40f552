/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Return codes. Every call returns 0 or a negative code: a system error as -errno,
 * or one of the codes below, grouped by what is lost. -EAGAIN means "not yet" and is
 * never logged. Codes keep their number for ever.
 */
#ifndef TCPX_ERR_H
#define TCPX_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

enum tcpx_err {
	/* the call failed; nothing else is affected */
	TCPX_ESTATE = -1001,   /* not allowed in the object's present state          */
	TCPX_ECONFIG = -1002,  /* a setting has a value that is not allowed          */
	TCPX_ELIMIT = -1003,   /* a stated limit would be exceeded                   */
	TCPX_EBLOB = -1004,    /* a blob is malformed or of another version          */
	TCPX_ESTALE = -1005,   /* no live region has this id                           */

	/* one transfer is lost */
	TCPX_ECANCELED = -1101, /* cancelled by the caller                           */
	TCPX_EREGION = -1102,   /* a region it used was deregistered                 */
	TCPX_EKEY = -1103,      /* the peer refused the region key or access right   */
	TCPX_ERANGE = -1104,    /* a descriptor reaches outside its region           */
	TCPX_ELENGTH = -1105,   /* the message is longer than the receive            */
	TCPX_EDATA = -1106,     /* data check failed                                 */

	/* one channel is lost; its transfers go on elsewhere */
	TCPX_ECHANNEL = -1201, /* connection broken                                  */
	TCPX_EFRAME = -1202,   /* bytes on the wire that no version of ours writes   */
	TCPX_EFENCED = -1203,  /* taken down by the peer                             */

	/* the session is lost; every transfer on it ends with the first cause */
	TCPX_EPEERGONE = -1301, /* this incarnation of the peer has gone             */
	TCPX_ESTALLED = -1302,  /* no progress within the stall deadline             */
	TCPX_EPROTO = -1303,    /* the peer broke the protocol                       */
	TCPX_EAUTH = -1304,     /* secret missing or wrong, or another engine answers */
	TCPX_ETIMEDOUT = -1305, /* connect or handshake deadline passed              */
	TCPX_EVERSION = -1306,  /* protocol version, provider or its settings differ   */
	TCPX_ECLOSED = -1307,   /* closed by this side                               */
	TCPX_ENOCHANNEL = -1308 /* no channel of the session is left                 */
};

/* What a code's owner has lost. */
enum tcpx_err_group {
	TCPX_GROUP_OK,
	TCPX_GROUP_SYSTEM,
	TCPX_GROUP_CALL,
	TCPX_GROUP_TRANSFER,
	TCPX_GROUP_CHANNEL,
	TCPX_GROUP_SESSION
};

#ifdef __cplusplus
}
#endif
#endif
