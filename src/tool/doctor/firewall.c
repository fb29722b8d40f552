/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both texts are read as words into chains of rules; whether a rule matches is decided while
 * it is read. Each rule then turns the set of what may happen into another.
 */
#include "tool/doctor/firewall.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS 512
#define DEPTH 16
#define NAME 64
#define GO_ON 4 /* beside FIREWALL_ACCEPT and _DROP: the next rule */

enum match { NO, MAYBE, YES };
enum action { NOTHING, ACCEPT, DROP, RETURN, JUMP, GOTO };

struct rule {
	struct rule *next;
	enum match match;
	enum action action;
	char target[NAME];
};

struct chain {
	char table[NAME], name[NAME];
	bool base;      /* connections that come in begin here */
	unsigned policy;
	unsigned may;   /* what happens in it; 0: not known yet, GO_ON while it is looked at */
	struct rule *first, **end;
};

struct reader {
	const char *at, *ifname;
	uint16_t port;
	char word[256];
	char table[NAME];
	struct chain *chain;
	unsigned count;
	bool failed;
};

/* The next word of the line: quotes are taken off, and { } , ; stand alone. False: its end. */
static bool
next_word(struct reader *r)
{
	size_t len = 0;

	r->at += strspn(r->at, " \t");
	if (!*r->at || *r->at == '\n')
		return false;
	if (*r->at == '"') {
		const char *end = r->at + 1 + strcspn(r->at + 1, "\"\n");

		snprintf(r->word, sizeof(r->word), "%.*s", (int)(end - r->at - 1), r->at + 1);
		r->at = end + (*end == '"');
		return true;
	}
	len = strchr("{},;", *r->at) ? 1 : strcspn(r->at, " \t\n{},;\"");
	snprintf(r->word, sizeof(r->word), "%.*s", (int)len, r->at);
	r->at += len;
	return true;
}

static bool
is(const struct reader *r, const char *word)
{
	return !strcmp(r->word, word);
}

static struct chain *
chain_get(struct reader *r, const char *name)
{
	struct chain *c = r->chain;

	for (unsigned i = 0; i < r->count; i++, c++)
		if (!strcmp(c->name, name) && !strcmp(c->table, r->table))
			return c;
	if (r->count == CHAINS) {
		r->failed = true;
		return NULL;
	}
	c = &r->chain[r->count++];
	snprintf(c->table, NAME, "%s", r->table);
	snprintf(c->name, NAME, "%s", name);
	c->end = &c->first;
	return c;
}

static void
chain_add(struct reader *r, struct chain *c, const struct rule *rule)
{
	struct rule *copy = malloc(sizeof(*copy));

	if (!copy) {
		r->failed = true;
		return;
	}
	*copy = *rule;
	copy->next = NULL;
	*c->end = copy;
	c->end = &copy->next;
}

/* ---- conditions ---------------------------------------------------------------------------- */

static void
narrow(struct rule *rule, enum match m)
{
	if (m < rule->match)
		rule->match = m;
}

static enum match
flip(enum match m, bool negated)
{
	return negated && m != MAYBE ? m == YES ? NO : YES : m;
}

/* "80", "80-90", "80:90", "ssh" (a name: not known). */
static enum match
port_in(const char *text, uint16_t port)
{
	unsigned first, last;
	char dash;
	int n = sscanf(text, "%u%c%u", &first, &dash, &last);

	if (n < 1)
		return MAYBE;
	if (n == 3 && (dash == '-' || dash == ':'))
		return port >= first && port <= last ? YES : NO;
	return n == 1 && port == first ? YES : NO;
}

static enum match
name_is(const char *pattern, const char *name)
{
	size_t len = strcspn(pattern, "*+"); /* a beginning of names */

	return (pattern[len] ? !strncmp(pattern, name, len) : !strcmp(pattern, name)) ? YES : NO;
}

enum kind { PORTS, NICS, STATES, PROTOCOLS };

static enum match
one_value(const struct reader *r, enum kind kind)
{
	switch (kind) {
	case PORTS:
		return port_in(r->word, r->port);
	case NICS:
		return name_is(r->word, r->ifname);
	case STATES:
		return !strcasecmp(r->word, "new") ? YES : NO;
	default:
		return is(r, "tcp") || is(r, "6") || is(r, "all") ? YES : NO;
	}
}

/* What follows a condition: [!=] VALUE{,VALUE} or a set in braces; a named set is MAYBE. */
static enum match
values(struct reader *r, enum kind kind)
{
	enum match all = NO;
	bool negated = false, braces = false;

	while (next_word(r)) {
		const char *before;

		if (is(r, "!=") || is(r, "==")) {
			negated = is(r, "!=");
			continue;
		}
		if (is(r, "{")) {
			braces = true;
			continue;
		}
		if (is(r, "}"))
			break;
		if (is(r, ","))
			continue;
		if (is(r, "vmap")) { /* the verdict is in the map: not taken apart */
			r->at += strcspn(r->at, "}\n");
			return MAYBE;
		}
		if (*r->word == '@')
			return MAYBE;
		all = one_value(r, kind) > all ? one_value(r, kind) : all;
		before = r->at;
		if (braces)
			continue;
		if (!next_word(r) || !is(r, ",")) {
			r->at = before;
			break;
		}
	}
	return flip(all, negated);
}

/* A comma list in one option, as iptables has it: the words of the list follow each other. */
static void
skip(struct reader *r, unsigned words)
{
	while (words-- && next_word(r))
		;
}

/* ---- iptables-save ------------------------------------------------------------------------- */

static void
read_target(struct reader *r, struct rule *rule, bool go)
{
	if (!next_word(r))
		return;
	if (is(r, "ACCEPT"))
		rule->action = ACCEPT;
	else if (is(r, "DROP") || is(r, "REJECT"))
		rule->action = DROP;
	else if (is(r, "RETURN"))
		rule->action = RETURN;
	else
		rule->action = go ? GOTO : JUMP; /* LOG and the like are chains that are not there */
	snprintf(rule->target, NAME, "%.63s", r->word);
}

static void
read_save_rule(struct reader *r)
{
	struct rule rule = { .match = YES };
	bool negated = false;
	struct chain *c;

	if (!next_word(r) || !(c = chain_get(r, r->word)))
		return;
	while (next_word(r)) {
		if (is(r, "!")) {
			negated = true;
			continue;
		}
		if (is(r, "-p"))
			narrow(&rule, flip(values(r, PROTOCOLS), negated));
		else if (is(r, "-i"))
			narrow(&rule, flip(values(r, NICS), negated));
		else if (is(r, "--dport") || is(r, "--dports"))
			narrow(&rule, flip(values(r, PORTS), negated));
		else if (is(r, "--state") || is(r, "--ctstate"))
			narrow(&rule, flip(values(r, STATES), negated));
		else if (is(r, "-j") || is(r, "-g"))
			read_target(r, &rule, is(r, "-g"));
		else if (is(r, "-m") || is(r, "--comment") || is(r, "--reject-with"))
			skip(r, 1);
		else if (is(r, "--syn"))
			narrow(&rule, flip(YES, negated));
		else if (is(r, "-o"))
			narrow(&rule, NO);
		else if (r->word[0] == '-')
			narrow(&rule, rule.action ? rule.match : MAYBE); /* behind -j: of the target */
		negated = false;
	}
	chain_add(r, c, &rule);
}

static void
read_save_line(struct reader *r)
{
	if (*r->at == '*') {
		snprintf(r->table, NAME, "%.*s", (int)strcspn(r->at, "\n") < NAME ?
			 (int)strcspn(r->at, "\n") : NAME - 1, r->at);
	} else if (*r->at == ':' && !strcmp(r->table, "*filter")) {
		char name[NAME], policy[NAME];
		struct chain *c;

		if (sscanf(r->at, ":%63s %63s", name, policy) == 2 && (c = chain_get(r, name))) {
			c->base = !strcmp(name, "INPUT");
			c->policy = !strcmp(policy, "DROP") ? FIREWALL_DROP : FIREWALL_ACCEPT;
		}
	} else if (!strncmp(r->at, "-A ", 3) && !strcmp(r->table, "*filter")) {
		r->at += 3;
		read_save_rule(r);
	}
}

/* ---- nft list ruleset ---------------------------------------------------------------------- */

/* The word is read; what belongs to it follows. */
static void
read_condition(struct reader *r, struct rule *rule)
{
	char first[sizeof(r->word)];

	if (is(r, "iif") || is(r, "iifname")) {
		narrow(rule, values(r, NICS));
		return;
	}
	if (is(r, "counter")) {
		const char *before = r->at;

		if (next_word(r) && is(r, "packets"))
			skip(r, 3);
		else
			r->at = before;
		return;
	}
	if (is(r, "comment") || is(r, "type") || is(r, "prefix") || is(r, "level") ||
	    is(r, "flags")) {
		skip(r, 1);
		return;
	}
	if (is(r, "log") || is(r, ";"))
		return;
	memcpy(first, r->word, sizeof(first));
	if (strcmp(first, "tcp") && strcmp(first, "th") && strcmp(first, "ct") &&
	    strcmp(first, "meta") && strcmp(first, "ip") && strcmp(first, "ip6")) {
		narrow(rule, !strncmp(first, "icmp", 4) || !strcmp(first, "udp") ||
			     !strcmp(first, "oif") || !strcmp(first, "oifname") ? NO : MAYBE);
		return;
	}
	if (!next_word(r))
		return;
	if (is(r, "dport"))
		narrow(rule, values(r, PORTS));
	else if (is(r, "state"))
		narrow(rule, values(r, STATES));
	else if (is(r, "l4proto") || is(r, "protocol") || is(r, "nexthdr"))
		narrow(rule, values(r, PROTOCOLS));
	else if (is(r, "iifname") || is(r, "iif"))
		narrow(rule, values(r, NICS));
	else
		narrow(rule, MAYBE);
}

static void
read_nft_rule(struct reader *r, struct chain *c)
{
	struct rule rule = { .match = YES };

	while (next_word(r)) {
		if (is(r, "accept")) {
			rule.action = ACCEPT;
		} else if (is(r, "drop") || is(r, "reject")) {
			rule.action = DROP;
			r->at += strcspn(r->at, "\n"); /* with what: nothing that decides */
		} else if (is(r, "return")) {
			rule.action = RETURN;
		} else if (is(r, "jump") || is(r, "goto")) {
			rule.action = is(r, "jump") ? JUMP : GOTO;
			skip(r, 1);
			snprintf(rule.target, NAME, "%.63s", r->word);
		} else {
			read_condition(r, &rule);
		}
	}
	chain_add(r, c, &rule);
}

/* "type filter hook input priority filter; policy drop;" */
static void
read_hook(struct reader *r, struct chain *c)
{
	bool input = false;

	c->policy = FIREWALL_ACCEPT;
	while (next_word(r)) {
		input |= is(r, "input");
		if (is(r, "policy") && next_word(r))
			c->policy = is(r, "drop") ? FIREWALL_DROP : FIREWALL_ACCEPT;
	}
	c->base = input;
}

/* @c: the chain we are in, or NULL; returns that of the next line. */
static struct chain *
read_nft_line(struct reader *r, struct chain *c)
{
	const char *line = r->at;

	if (!next_word(r))
		return c;
	if (is(r, "table")) {
		skip(r, 1);
		snprintf(r->table, NAME, "%.20s ", r->word);
		skip(r, 1);
		snprintf(r->table + strlen(r->table), NAME - strlen(r->table), "%.40s", r->word);
		return NULL;
	}
	if (is(r, "chain")) {
		skip(r, 1);
		return chain_get(r, r->word);
	}
	if (is(r, "}"))
		return NULL;
	if (!c)
		return NULL;
	if (is(r, "type")) {
		read_hook(r, c);
		return c;
	}
	r->at = line;
	read_nft_rule(r, c);
	return c;
}

/* ---- what becomes of a connection ---------------------------------------------------------- */

/* Once for each chain: it is the same from wherever it is entered. Rules that lead back to a
 * chain which is being looked at, which no kernel takes, go on. */
static unsigned run_chain(const struct reader *r, struct chain *c, unsigned depth);

static unsigned
chain_may(const struct reader *r, struct chain *c, unsigned depth)
{
	if (!c->may) {
		c->may = GO_ON;
		c->may = run_chain(r, c, depth);
	}
	return c->may;
}

static unsigned
run_chain(const struct reader *r, struct chain *c, unsigned depth)
{
	unsigned may = 0, end = c->base ? c->policy : GO_ON;

	for (const struct rule *rule = c->first; rule; rule = rule->next) {
		unsigned then = GO_ON;

		if (rule->match == NO)
			continue;
		if (rule->action == ACCEPT)
			then = FIREWALL_ACCEPT;
		else if (rule->action == DROP)
			then = FIREWALL_DROP;
		else if (rule->action == RETURN)
			then = 0;
		for (unsigned i = 0; i < r->count && rule->action >= JUMP && depth < DEPTH; i++)
			if (!strcmp(r->chain[i].name, rule->target) &&
			    !strcmp(r->chain[i].table, c->table))
				then = chain_may(r, &r->chain[i], depth + 1);
		may |= then & ~(unsigned)GO_ON;
		if (rule->action == RETURN || (rule->action == GOTO && then & GO_ON)) {
			may |= end; /* back to where we came from, or the end of a base chain */
			if (rule->match == YES)
				return may;
		} else if (rule->match == YES && !(then & GO_ON)) {
			return may;
		}
	}
	return may | end;
}

unsigned
firewall_judge(const char *ruleset, const char *ifname, uint16_t port)
{
	struct reader r = { .at = ruleset, .ifname = ifname, .port = port };
	unsigned may = FIREWALL_ACCEPT;
	struct chain *c = NULL;

	r.chain = calloc(CHAINS, sizeof(*r.chain));
	if (!r.chain)
		return 0;
	while (*r.at) {
		if (strchr("*:-", *r.at))
			read_save_line(&r);
		else
			c = read_nft_line(&r, c);
		r.at += strcspn(r.at, "\n");
		r.at += *r.at == '\n';
	}
	/* each base chain must let it pass; a drop in one is for good */
	for (unsigned i = 0; i < r.count; i++) {
		unsigned this;

		if (!r.chain[i].base)
			continue;
		this = chain_may(&r, &r.chain[i], 0);
		if (!(this & FIREWALL_ACCEPT))
			may = FIREWALL_DROP;
		else if (this & FIREWALL_DROP && may & FIREWALL_ACCEPT)
			may |= FIREWALL_DROP;
	}
	for (unsigned i = 0; i < r.count; i++) {
		while (r.chain[i].first) {
			struct rule *rule = r.chain[i].first;

			r.chain[i].first = rule->next;
			free(rule);
		}
	}
	free(r.chain);
	return r.failed ? 0 : may;
}
