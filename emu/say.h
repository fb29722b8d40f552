/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the emulator has to say, and what follows from it. Every finding has a name, which
 * stands in brackets before its text; docs/emulator.md lists them.
 */
#ifndef EMU_SAY_H
#define EMU_SAY_H

#include <stdbool.h>

#include "net/nccl_net.h"

#define EMU_FORMAT(n) __attribute__((format(printf, n, n + 1)))

/* NULL: stderr. */
void emu_say_to(nccl_logger logger);
void emu_say_strict(bool strict);

void emu_info(const char *fmt, ...) EMU_FORMAT(1);
void emu_warn(const char *fmt, ...) EMU_FORMAT(1);

/* What the real plugin refuses, too: a WARN, and NCCL_INTERNAL_ERROR in every mode. */
enum nccl_result emu_refuse(const char *name, const char *fmt, ...) EMU_FORMAT(2);
/* What the real plugin would not notice and then crash or corrupt: strict mode aborts; else
 * a WARN and NCCL_INTERNAL_ERROR. */
enum nccl_result emu_misuse(const char *name, const char *fmt, ...) EMU_FORMAT(2);
/* What makes the real plugin end the process: a WARN, and exit status 1. */
_Noreturn void emu_fatal(const char *name, const char *fmt, ...) EMU_FORMAT(2);

#endif
