/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin that is imitated has built in. */
#ifndef EMU_BOUNDS_H
#define EMU_BOUNDS_H

#define EMU_SOCKETS_MAX 8    /* data sockets of a comm                                  */
#define EMU_THREADS_MAX 16   /* helper threads of a comm                                */
#define EMU_TASKS_MAX	6    /* chunks that wait on one socket                          */
#define EMU_REQUESTS	16   /* of a comm, receives done but not consumed included      */
#define EMU_NICS_MAX	16
#define EMU_NAME_BYTES	16   /* of a NIC's name, with its end                           */
#define EMU_PAGE	4096u
#define EMU_TASK_FRAGS	2048 /* a chunk that reaches so many ends the process           */
#define EMU_GPUS_MAX	64

enum emu_role { EMU_SEND, EMU_RECV };

#endif
