/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of all settings, each with its source. Later sources beat earlier ones:
 * default, variables of NCCL (hints.h), /etc/tcpx.conf, ~/.tcpx.conf (or TCPX_CONF_FILE instead),
 * environment, caller. An empty value means the default.
 */
#ifndef BASE_CFG_H
#define BASE_CFG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hints.h"
#include "base/settings.h"

struct tcpx_cfg;

/* Where settings are read from. NULL members are skipped; all is borrowed for the call. */
struct tcpx_cfg_sources {
	char *const *env;          /* like environ; also TCPX_CONF_FILE and NCCL's    */
	const struct tcpx_hints *hints; /* lines of NCCL's files                      */
	const char *etc_file;      /* need not exist                                  */
	const char *home_file;     /* need not exist, unless TCPX_CONF_FILE names it  */
	const char *const *caller; /* "NAME=value", ..., NULL                         */
};

/*
 * tcpx_cfg_load - read all sources
 * @src: NULL: those of this process, without a caller's
 * @out: give back with tcpx_cfg_free(); unchanged on failure
 *
 * A name of ours (TCPX_, UCCL_TCPX_) that is no setting is reported once, as WARN, with
 * the name it resembles; from the caller it is an error. A variable of NCCL with an unusable
 * value is reported and skipped, because it was set for another program.
 *
 * Return: 0; TCPX_ECONFIG (logged with name, value, source and what is allowed); -ENOMEM.
 */
int tcpx_cfg_load(const struct tcpx_cfg_sources *src, struct tcpx_cfg **out) TCPX_MUST_CHECK;
/* The sources of this process, and a caller's (or NULL) above them. In a setuid program neither environment nor
 * HOME is one. */
int tcpx_cfg_load_system(const char *const *caller, struct tcpx_cfg **out) TCPX_MUST_CHECK;
void tcpx_cfg_free(struct tcpx_cfg *cfg);

/* Sets one "NAME=value" on top. @source is text for people ("flag --chunk"), and copied.
 * TCPX_ECONFIG or -ENOMEM: nothing has changed. */
int tcpx_cfg_set(struct tcpx_cfg *cfg, const char *assignment, const char *source)
	TCPX_MUST_CHECK;

/* The number: bytes, milliseconds, count, 0 or 1, index of the word. 0 for auto and for
 * text. Any thread may read while none sets. */
uint64_t tcpx_cfg_num(const struct tcpx_cfg *cfg, enum tcpx_setting setting);
/* The text as it was given ("512K"), a word in the spelling of the table. Borrowed until
 * the setting is set again or cfg is freed, as is the source. */
const char *tcpx_cfg_str(const struct tcpx_cfg *cfg, enum tcpx_setting setting);
/* "default", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_SOCKET_IFNAME (/etc/nccl.conf line 2)",
 * "/etc/tcpx.conf line 3", "environment", "caller";
 * an alias stands behind in brackets: "environment (UCCL_TCPX_CHUNK_BYTES)". */
const char *tcpx_cfg_source(const struct tcpx_cfg *cfg, enum tcpx_setting setting);
/* True if no source names the setting. */
bool tcpx_cfg_is_default(const struct tcpx_cfg *cfg, enum tcpx_setting setting);

/* True: a source of tcpx_cfg_source() is a variable of NCCL's, which was set for another
 * program. */
bool tcpx_cfg_is_hint(const char *source);

/* TCPX_CHANNELS for this number of NICs; *total 0: the engine chooses. TCPX_ECONFIG: a
 * number for each NIC makes too many. */
int tcpx_cfg_channels(const struct tcpx_cfg *cfg, unsigned nics, unsigned *total)
	TCPX_MUST_CHECK;

#endif
