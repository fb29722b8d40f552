/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/firewall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *at;
	size_t len;
};

/* The line at *text without the blanks around it; *text moves behind it. */
static struct line
next_line(const char **text)
{
	struct line l = { *text, strcspn(*text, "\n") };

	*text += l.len + (l.at[l.len] == '\n');
	while (l.len && strchr(" \t", *l.at)) {
		l.at++;
		l.len--;
	}
	while (l.len && strchr(" \t", l.at[l.len - 1]))
		l.len--;
	return l;
}

static const char *
find(const struct line *l, const char *word)
{
	return memmem(l->at, l->len, word, strlen(word));
}

/* "22", "22-30000", "22:30000", and lists of these, behind "dport" or "dports". */
static bool
names_port(const struct line *l, uint16_t port)
{
	const char *at = find(l, "dport"), *end = l->at + l->len;

	while (at && at < end && !strchr("0123456789", *at))
		at++;
	while (at && at < end && strchr("0123456789-:,{} ", *at)) {
		char *rest;
		unsigned long first = strtoul(at, &rest, 10), last = first;

		if (rest == at) {
			at++;
			continue;
		}
		if (rest + 1 < end && (*rest == '-' || *rest == ':') && rest[1] >= '0' &&
		    rest[1] <= '9')
			last = strtoul(rest + 1, &rest, 10);
		if (port >= first && port <= last)
			return true;
		at = rest;
	}
	return false;
}

static void
quote(char *out, size_t cap, const char *text, size_t len)
{
	size_t used = strlen(out);

	snprintf(out + used, cap - used, "%s%.*s", used ? "; " : "", (int)len, text);
}

bool
firewall_quote(const char *ruleset, uint16_t port, char *out, size_t cap)
{
	bool any = false, filter = false;

	*out = '\0';
	while (*ruleset) {
		struct line l = next_line(&ruleset);
		const char *policy;

		if (l.len && *l.at == '*') { /* a table of iptables-save */
			filter = l.len == 7 && !memcmp(l.at, "*filter", 7);
		} else if (filter && l.len > 7 && !memcmp(l.at, ":INPUT ", 7)) {
			char what[64];

			any = true;
			snprintf(what, sizeof(what), "policy %.*s", (int)strcspn(l.at + 7, " \n"), l.at + 7);
			quote(out, cap, what, strlen(what));
		} else if (find(&l, "hook input")) {
			any = true;
			policy = find(&l, "policy ");
			if (policy)
				quote(out, cap, policy, strcspn(policy, ";\n"));
			else
				quote(out, cap, "policy accept", 13);
		} else if (names_port(&l, port)) {
			quote(out, cap, l.at, l.len);
		}
	}
	return any;
}
