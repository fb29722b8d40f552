/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the emulator, and their consequences. Every finding has a name, in brackets
 * before its text; docs/emulator.md lists them.
 */
#ifndef EMU_SAY_H
#define EMU_SAY_H

#include <stdbool.h>

#include "net/plugin/nccl_net.h"

#define EMU_FORMAT(n) __attribute__((format(printf, n, n + 1)))

/* NULL: stderr. */
void emu_say_to(nccl_logger logger);
void emu_say_strict(bool strict);

void emu_info(const char *fmt, ...) EMU_FORMAT(1);
void emu_warn(const char *fmt, ...) EMU_FORMAT(1);

/* A call that the real plugin refuses: a WARN, and NCCL_INTERNAL_ERROR in every mode. */
enum nccl_result emu_refuse(const char *name, const char *fmt, ...) EMU_FORMAT(2);
/* A call that makes the real plugin crash or corrupt unnoticed: strict mode aborts;
 * otherwise a WARN and NCCL_INTERNAL_ERROR. */
enum nccl_result emu_misuse(const char *name, const char *fmt, ...) EMU_FORMAT(2);
/* A condition that makes the real plugin end the process: a WARN, and exit(1) in whatever thread. */
_Noreturn void emu_fatal(const char *name, const char *fmt, ...) EMU_FORMAT(2);

/* On stderr, when the process ends and the caller's logger may be gone. */
void emu_last_word(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
