/* SPDX-License-Identifier: Apache-2.0 */
/* What net/plugin/plug.c looks for: a library of ours is nothing that an engine can drive. */
extern const char tcpx_nccl_plugin[];

__attribute__((visibility("default"))) const char tcpx_nccl_plugin[] = "tcpx-p2p";
