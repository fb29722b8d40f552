/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL reads from the environment after its plugin's init(). */
#ifndef TCPX_NCCL_ENVIRON_H
#define TCPX_NCCL_ENVIRON_H

/*
 * tcpx_nccl_environ_add - a variable for this process, if its environment has none of that name
 * @setting: "NAME=VALUE", static
 * Other threads may call getenv() meanwhile, but not setenv() or putenv(), nor this.
 * Return: 1: added; 0: the user has set it; -ENOMEM.
 */
int tcpx_nccl_environ_add(char *setting);

#endif
