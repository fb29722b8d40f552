/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulated hosts: one network namespace a host; NIC k of every host is in one segment and
 * subnet. Every link lives in a namespace whose name contains the lab's. So the names
 * always show what to remove, even if the making process was killed. lab_up(), lab_down() and
 * lab_status() return exit codes of tool.h and print their failures.
 */
#ifndef MEASURE_LAB_LAB_H
#define MEASURE_LAB_LAB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_DIR "/run/tcpx-lab" /* journals: <name>.json, written before anything is made */

enum {
	LAB_HOSTS_MAX = 64,
	LAB_NICS_MAX = 16,
	LAB_NAME_MAX = 32,
	LAB_FABRIC = -1, /* in place of a host number: the namespace with the bridges */
};

struct lab {
	char name[LAB_NAME_MAX];
	unsigned hosts;                  /* 2 to LAB_HOSTS_MAX    */
	unsigned nics;                   /* of each host          */
	uint32_t mtu;
	uint64_t rate_bps[LAB_NICS_MAX]; /* bits a second; 0: none */
};

/* Lower case letters, digits, - and _, beginning with a letter. */
bool lab_name_allowed(const char *name);
/* "tcpx-<lab>-h<host>" or "tcpx-<lab>-fabric". */
const char *lab_ns_name(const char *lab, int host, char *buf, size_t cap);
/* The reverse; false for names of no lab. @lab holds LAB_NAME_MAX bytes. */
bool lab_ns_parse(const char *ns_name, char *lab, int *host);
/* "1G,1G,1G,250M" or one rate for all into @lab->rate_bps; 0 is no limit. Bits a second,
 * powers of 1000. 0, or -EINVAL, -ERANGE. */
int lab_rates_parse(struct lab *lab, const char *text);
/* Host byte order: 10.77.<nic>.<host + 1>, prefix length 24. */
uint32_t lab_addr(unsigned host, unsigned nic);
/* Interface index of a host's NIC in its namespace. */
int lab_nic_index(unsigned nic);

/* All or nothing: TOOL_OK, TOOL_USAGE (the name is taken), TOOL_DENIED, TOOL_ROLLED_BACK,
 * TOOL_HALF. */
int lab_up(const struct lab *lab);
/* Removes all of a lab, whole or half-made. TOOL_USAGE: no lab of that name. */
int lab_down(const char *name);
/* The labs that exist, or only @name (NULL: all), as
 * { labs: [{ name, whole, hosts: [{ host, namespace, pids, nics: [...] }] }] }. */
int lab_status(const char *name, json_t **out);

#endif
