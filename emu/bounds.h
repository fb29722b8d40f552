/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed limits of the imitated plugin. */
#ifndef EMU_BOUNDS_H
#define EMU_BOUNDS_H

#define EMU_SOCKETS_MAX 8    /* data sockets of a comm                                  */
#define EMU_THREADS_MAX 16   /* helper threads of a comm                                */
#define EMU_TASKS_MAX	6    /* chunks waiting on one socket                            */
#define EMU_REQUESTS	16   /* of a comm, with receives that are done but not consumed */
#define EMU_NICS_MAX	16
#define EMU_NAME_BYTES	16   /* of a NIC's name, with its end                           */
#define EMU_PAGE	4096u
#define EMU_TASK_FRAGS	2048 /* a chunk that reaches this many ends the process         */
#define EMU_GPUS_MAX	64

enum emu_role { EMU_SEND, EMU_RECV };

#endif
