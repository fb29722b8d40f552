/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's log (NCCL_DEBUG=INFO) says of the net that it uses. */
#ifndef TUNE_INFO_NCCL_LOG_H
#define TUNE_INFO_NCCL_LOG_H

struct nccl_log {
	char path[512];
	char version[64];   /* of NCCL; "" not said                       */
	char net[64];       /* "tcpx-p2p", "Socket", ... of the first communicator; "" none yet */
	char other[64];     /* a net of another communicator that differs; "" none              */
	char said[256];     /* the reason why a plugin was not taken                           */
	int weight;         /* of that line                                                     */
};

/*
 * nccl_log_read - the newest file that @pattern names, as NCCL_DEBUG_FILE does: %h is this host
 * up to its first dot, %p any process, %% is %
 * Return: 0; a negative errno with out->path set.
 */
int nccl_log_read(const char *pattern, struct nccl_log *out);

#endif
