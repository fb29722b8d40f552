/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of settings for environment, files, command line, help and manual page.
 * Values are in cfg.h.
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tcpx_setting {
	TCPX_SET_NICS,
	TCPX_SET_CTRL,
	TCPX_SET_FAMILY,
	TCPX_SET_PROVIDER,
	TCPX_SET_CHANNELS,
	TCPX_SET_NARROW,
	TCPX_SET_CHUNK,
	TCPX_SET_WINDOW,
	TCPX_SET_THREADS,
	TCPX_SET_CPUS,
	TCPX_SET_BIND,
	TCPX_SET_TX_BINDINGS,
	TCPX_SET_RX_BINDINGS,
	TCPX_SET_DIST,
	TCPX_SET_PORT,
	TCPX_SET_PORTS,
	TCPX_SET_ADVERTISE,
	TCPX_SET_ALLOW,
	TCPX_SET_CONNECT_MS,
	TCPX_SET_HANDSHAKE_MS,
	TCPX_SET_STALL_MS,
	TCPX_SET_FREEZE_MS,
	TCPX_SET_KEEPALIVE_MS,
	TCPX_SET_LINGER_MS,
	TCPX_SET_STRICT_NICS,
	TCPX_SET_CHECKSUM,
	TCPX_SET_SECRET_FILE,
	TCPX_SET_SPIN_US,
	TCPX_SET_INLINE,
	TCPX_SET_EAGER,
	TCPX_SET_NOTE_LIMIT,
	TCPX_SET_SEND_LIMIT,
	TCPX_SET_CREDIT_XFERS,
	TCPX_SET_CREDIT_LIST_BYTES,
	TCPX_SET_PEER_MEMORY,
	TCPX_SET_PEERS_MEMORY,
	TCPX_SET_UNPACK_IMPL,
	TCPX_SET_STAGING,
	TCPX_SET_ZEROCOPY,
	TCPX_SET_CONGESTION,
	TCPX_SET_CUDA_LIBRARY,
	TCPX_SET_PLUGIN_PATH,
	TCPX_SET_GPU,
	TCPX_SET_MAP,
	TCPX_SET_RELAY,
	TCPX_SET_ROOT,
	TCPX_SET_STATS,
	TCPX_SET_DEBUG,
	TCPX_SET_DEBUG_SUBSYS,
	TCPX_SET_DEBUG_FILE,
	TCPX_SETTING_COUNT
};

enum tcpx_setting_type {
	TCPX_TYPE_STRING,   /* at most TCPX_SETTING_TEXT_MAX bytes        */
	TCPX_TYPE_BOOL,     /* 0 1 no yes off on                          */
	TCPX_TYPE_COUNT,    /* digits                                     */
	TCPX_TYPE_SIZE,     /* bytes, as tcpx_parse_size()                */
	TCPX_TYPE_MS,       /* milliseconds, as tcpx_parse_ms()           */
	TCPX_TYPE_WORD,     /* one of words, in any case                  */
	TCPX_TYPE_CHANNELS, /* "16" in all, or "4/nic"                    */
	TCPX_TYPE_CPUS,     /* CPU list, may be empty                     */
	TCPX_TYPE_PORT,     /* 0 to 65535, or off: TCPX_PORT_OFF          */
	TCPX_TYPE_PORTS,    /* "28515-28614", may be empty               */
	TCPX_TYPE_NETS,     /* "10.0.0.0/8,fd00::/8", may be empty       */
	TCPX_TYPE_COUNT_OF
};

#define TCPX_SETTING_TEXT_MAX 4095
#define TCPX_PORT_OFF         65536 /* the number of a PORT that is off */

struct tcpx_setting_def {
	const char *name; /* "TCPX_CHUNK"                                            */
	enum tcpx_setting_type type;
	bool automatic;   /* "auto" and 0 are allowed: the engine chooses            */
	const char *value; /* default, as text                                       */
	char unit[12];     /* "bytes", "ms", "us", or ""                             */
	uint64_t min, max; /* of numbers; CHANNELS: in all; max 0: no limits         */
	/* each ended by NULL */
	const char *words[9];   /* of a WORD                                         */
	const char *aliases[3]; /* other names                                       */
	const char *hints[3];   /* variables of other programs with the same meaning; the
				 * first that is set counts */
	const char *since;      /* version                                           */
	const char *help;       /* one sentence                                      */
};

/* A checked value. */
struct tcpx_setting_value {
	uint64_t num; /* number, index of the word, 0 or 1; 0 for auto and text;
		       * PORTS: first << 16 | last, 0 for none                */
	bool per_nic; /* CHANNELS: num is for each NIC                               */
};

/* The @i-th setting, an enum tcpx_setting; NULL behind the last. Static. */
const struct tcpx_setting_def *tcpx_setting_at(unsigned i);
/* Index of the setting that has @name as name or alias, or -ENOENT. */
int tcpx_setting_find(const char *name);
/* Is the name known to another part of the project, or to a program that the
 * project replaces? */
bool tcpx_setting_known_elsewhere(const char *name);
/* The setting whose name is nearest to @name, or NULL. */
const struct tcpx_setting_def *tcpx_setting_nearest(const char *name);

/* Checks @text. 0 or -EINVAL; not logged. */
int tcpx_setting_parse(const struct tcpx_setting_def *def, const char *text,
		       struct tcpx_setting_value *value);
/* Text for people: "auto, or 1 to 64", "pull, rr". 256 bytes are enough. Returns buf. */
const char *tcpx_setting_allowed(const struct tcpx_setting_def *def, char *buf, size_t cap);
/* "size", "word". Static. */
const char *tcpx_setting_type_name(enum tcpx_setting_type type);

#endif
