/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet filter says of connections that come in, quoted from what `nft list ruleset` and
 * `iptables-save` print. Pure. Nothing is decided: a filter's answer can depend on all its rules.
 */
#ifndef TUNE_DOCTOR_FIREWALL_H
#define TUNE_DOCTOR_FIREWALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIREWALL_BYTES (1u << 20)

/*
 * firewall_quote - policies of the input chains, and the rules whose destination ports hold @port
 * @out: "policy drop; tcp dport 22-30000 accept", cut to @cap bytes with its NUL
 * Return: false if no chain looks at what comes in.
 */
bool firewall_quote(const char *ruleset, uint16_t port, char *out, size_t cap);

#endif
