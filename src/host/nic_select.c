/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NICs to use, from facts and a selection text. Pure. NCCL's syntax; where it is
 * silent the user's order and the user's spelling of addresses are kept.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cfg.h"
#include "host/addr.h"

#define ENTRIES_MAX 64 /* of a selection */
#define INVENTORY 384  /* bytes of the list of what there is */

struct selection {
	bool exclude, exact;
	unsigned count;
	char entry[ENTRIES_MAX][48];
	bool alt[ENTRIES_MAX]; /* no interface itself is called so: their other names count */
};

/* The result being filled. */
struct chosen {
	struct tcpx_host_nic *nic;
	unsigned count, cap;
	unsigned left_out; /* fitting ones beyond the cap */
};

/* Packets to the address of a NIC without a link come by others. */
bool
tcpx_host_nic_binds(const struct tcpx_host_nic *nic)
{
	return !nic->loopback && strcmp(nic->kind, "dummy") != 0 && !strcmp(nic->name, nic->ifname);
}

static int
parse_selection(const char *text, struct selection *sel)
{
	const char *at = text;

	memset(sel, 0, sizeof(*sel));
	sel->exclude = *at == '^';
	at += sel->exclude;
	sel->exact = *at == '=';
	at += sel->exact;

	for (;;) {
		size_t len = strcspn(at, ",");

		if (len == 0 || len >= sizeof(sel->entry[0]) || sel->count == ENTRIES_MAX)
			return tcpx_fail(TCPX_SUB_HOST, -EINVAL,
					 "NIC selection \"%.128s\": 1 to %d entries of 1 to %zu "
					 "bytes between commas are allowed", text, ENTRIES_MAX,
					 sizeof(sel->entry[0]) - 1);
		memcpy(sel->entry[sel->count++], at, len);
		if (at[len] == '\0')
			return 0;
		at += len + 1;
	}
}

/* "eth0 10.0.0.2/24, eth1 down, ..." for the message that nothing was found. */
static void
describe_all(const struct tcpx_host_nic *all, unsigned count, char *buf, size_t cap)
{
	size_t len = 0;

	snprintf(buf, cap, "none");
	for (unsigned i = 0; i < count && len < cap; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];
		const char *unfit = tcpx_host_nic_unfit(&all[i]);

		tcpx_host_addr_format(&all[i].addr, addr, sizeof(addr));
		len += (size_t)snprintf(buf + len, cap - len, "%s%s %s", i ? ", " : "",
					all[i].ifname, unfit ? unfit : addr);
	}
}

static bool
is_chosen(const struct chosen *c, const struct tcpx_host_nic *nic)
{
	for (unsigned i = 0; i < c->count; i++)
		if (!strcmp(c->nic[i].ifname, nic->ifname) &&
		    tcpx_host_addr_equal(&c->nic[i].addr, &nic->addr))
			return true;
	return false;
}

static void
choose(struct chosen *c, const struct tcpx_host_nic *nic, const char *why)
{
	if (is_chosen(c, nic))
		return;
	if (c->count == c->cap) {
		c->left_out++;
		return;
	}
	c->nic[c->count] = *nic;
	snprintf(c->nic[c->count].why, sizeof(c->nic[c->count].why), "%s", why);
	c->count++;
}

/* Puts it where it belongs by the order of the default. */
static void
choose_in_order(struct chosen *c, const struct tcpx_host_nic *nic, const char *why)
{
	unsigned at = c->count;

	while (at > 0 && tcpx_host_nic_precedes(nic, &c->nic[at - 1]))
		at--;
	if (c->count == c->cap)
		c->left_out++;
	else
		c->count++;
	if (at == c->cap)
		return;
	memmove(&c->nic[at + 1], &c->nic[at], (c->count - at - 1) * sizeof(*nic));
	c->nic[at] = *nic;
	snprintf(c->nic[at].why, sizeof(c->nic[at].why), "%s", why);
}

bool
tcpx_host_nic_address(const struct tcpx_host_nic *nic, const struct tcpx_addr *addr,
		      struct tcpx_addr *own)
{
	for (unsigned i = 0; i < nic->addr_count; i++) {
		const struct tcpx_addr *a = &nic->addrs[i];

		*own = *a;
		if (tcpx_host_addr_equal(a, addr))
			return true;
		/* Every address of the loopback's subnet is this machine's. */
		if (nic->loopback && a->family == 4 && addr->family == 4 &&
		    memcmp(a->ip, addr->ip, 1) == 0 && a->prefix == 8) {
			memcpy(own->ip, addr->ip, sizeof(own->ip));
			return true;
		}
	}
	return false;
}

/* True: the entry names the NIC by its own name or, with @alt, by one of the others. */
static bool
matches(const struct tcpx_host_nic *nic, const char *entry, bool exact, bool alt)
{
	const char *name = alt ? nic->alts : nic->ifname;
	size_t want = strlen(entry), len;

	for (; *name; name += len + (name[len] == ' ')) {
		len = strcspn(name, " ");
		if (strncmp(name, entry, want) == 0 && (len == want || (!exact && len > want)))
			return true;
	}
	return false;
}

bool
tcpx_host_nic_is_called(const struct tcpx_host_nic *nic, const char *name)
{
	return matches(nic, name, true, false) || matches(nic, name, true, true);
}

static void
look_for_others(const struct tcpx_host_nic *all, unsigned count, struct selection *sel)
{
	for (unsigned i = 0; i < sel->count; i++) {
		unsigned k = 0;

		while (k < count && !matches(&all[k], sel->entry[i], sel->exact, false))
			k++;
		sel->alt[i] = k == count;
	}
}

/* One that is spelled out and down is wanted: its channels join when its link comes. */
static void
choose_named(struct chosen *c, const struct tcpx_host_nic *nic, const char *why)
{
	if (!nic->up)
		tcpx_warn(TCPX_SUB_HOST, "NIC selection: %s is down; it joins when its link comes",
			  nic->name);
	choose(c, nic, nic->up ? why : "is named, and down");
}

/* So is one without an address, or with one that IPv6 gives to every link: see wait_for_addresses(). */
static void
choose_spelled(struct chosen *c, const struct tcpx_host_nic *found, const char *why)
{
	struct tcpx_host_nic nic = *found;

	if (tcpx_addr_is_link_local(&nic.addr))
		nic.addr.family = 0;
	choose_named(c, &nic, why);
}

/* A NIC of its own: the interface's facts under the address's text. */
static void
choose_address(struct chosen *c, const struct tcpx_host_nic *all, unsigned count,
	       const char *text, const struct tcpx_addr *addr)
{
	for (unsigned i = 0; i < count; i++) {
		struct tcpx_host_nic nic = all[i];
		struct tcpx_addr own;
		size_t cut;

		if (!tcpx_host_nic_address(&all[i], addr, &own))
			continue;
		cut = strlen(text) < sizeof(nic.name) ? 0 : strlen(text) - sizeof(nic.name) + 1;
		snprintf(nic.name, sizeof(nic.name), "%s", text + cut);
		nic.addr = nic.addrs[0] = own;
		nic.addr_count = 1;
		choose_named(c, &nic, "its address is named");
		return;
	}
	tcpx_warn(TCPX_SUB_HOST, "NIC selection: address %s is not one of this machine's, or not of "
		  "TCPX_FAMILY; left out", text);
}

static void
choose_names(struct chosen *c, const struct tcpx_host_nic *all, unsigned count,
	     const char *entry, bool exact, bool alt)
{
	bool matched = false;
	char why[64];

	snprintf(why, sizeof(why), exact ? "is named" : "begins with \"%s\"", entry);
	for (unsigned i = 0; i < count; i++) {
		const char *unfit = tcpx_host_nic_unfit(&all[i]);

		if (!matches(&all[i], entry, exact, alt))
			continue;
		matched = true;
		if (tcpx_host_nic_is_called(&all[i], entry))
			choose_spelled(c, &all[i], why);
		else if (unfit)
			tcpx_warn(TCPX_SUB_HOST, "NIC selection: %s matches \"%s\" but: %s; left "
				  "out", all[i].ifname, entry, unfit);
		else
			choose_named(c, &all[i], why);
	}
	if (!matched)
		tcpx_warn(TCPX_SUB_HOST, "NIC selection: no interface matches \"%s\"%s", entry,
			  exact ? "" : " at the beginning of its name");
}

static void
choose_listed(struct chosen *c, const struct tcpx_host_nic *all, unsigned count,
	      const struct selection *sel)
{
	for (unsigned i = 0; i < sel->count; i++) {
		struct tcpx_addr addr;

		if (tcpx_host_addr_parse(sel->entry[i], &addr) == 0 && addr.prefix == 0)
			choose_address(c, all, count, sel->entry[i], &addr);
		else
			choose_names(c, all, count, sel->entry[i], sel->exact, sel->alt[i]);
	}
}

static bool
is_excluded(const struct tcpx_host_nic *nic, const struct selection *sel)
{
	for (unsigned i = 0; i < sel->count; i++) {
		struct tcpx_addr addr, own;

		if (matches(nic, sel->entry[i], sel->exact, sel->alt[i]))
			return true;
		if (tcpx_host_addr_parse(sel->entry[i], &addr) == 0 &&
		    tcpx_host_nic_address(nic, &addr, &own))
			return true;
	}
	return false;
}

/* The best grade of those that a "^" list leaves; the grades of what is seldom meant do not
 * count. */
static uint8_t
grade_left(const struct tcpx_host_nic *all, unsigned count, const struct selection *sel)
{
	uint8_t best = 0;

	for (unsigned i = 0; i < count; i++)
		if (tcpx_host_nic_is_better(&all[i], best) && !is_excluded(&all[i], sel))
			best = all[i].grade;
	return best;
}

/* The default, without what a "^" list names. */
static void
choose_default(struct chosen *c, const struct tcpx_host_nic *all, unsigned count,
	       const struct selection *sel)
{
	const char *why = sel->count ? "up, has an address, is not excluded" : "up, has an address";
	uint8_t grade;

	for (unsigned i = 0; i < count; i++)
		if (!all[i].left_out && !is_excluded(&all[i], sel))
			choose_in_order(c, &all[i], why);
	grade = c->count ? 0 : grade_left(all, count, sel);
	for (unsigned i = 0; grade && i < count; i++)
		if (tcpx_host_nic_is_better(&all[i], grade - 1u) && !is_excluded(&all[i], sel))
			choose_in_order(c, &all[i], why);
	if (c->count)
		return;
	for (unsigned i = 0; i < count; i++)
		if (all[i].loopback && !tcpx_host_nic_unfit(&all[i]) && !is_excluded(&all[i], sel))
			choose(c, &all[i], "only the loopback is left");
}

/* The first that can be used now; NULL: none. */
static const struct tcpx_host_nic *
first_fit(const struct chosen *c)
{
	unsigned i = 0;

	while (i < c->count && tcpx_host_nic_unfit(&c->nic[i]))
		i++;
	return i < c->count ? &c->nic[i] : NULL;
}

/* Those without an address wait for one of the family that the others have. Where all have
 * link-local ones alone, these are meant. */
static void
wait_for_addresses(struct chosen *c)
{
	const struct tcpx_host_nic *fit = first_fit(c);

	for (unsigned i = 0; i < c->count; i++) {
		struct tcpx_host_nic *nic = &c->nic[i];

		if (nic->addr.family)
			continue;
		if (!fit && nic->addr_count) {
			nic->addr = nic->addrs[0];
			continue;
		}
		if (!fit)
			continue;
		nic->addr = (struct tcpx_addr){ .family = fit->addr.family };
		snprintf(nic->why, sizeof(nic->why), "is named, and has no address");
		tcpx_warn(TCPX_SUB_HOST, "NIC selection: %s has no address of IPv%u%s; it joins when it has "
			  "one", nic->name, nic->addr.family, nic->addr_count ? " beyond its link" : "");
	}
}

/* The chosen ones of @selection, which may be none. 0, or -EINVAL: it is no list. */
static int
select_some(const struct tcpx_host_nic *all, unsigned all_count, const char *selection,
	    struct chosen *c)
{
	struct selection sel = { .count = 0 };
	int rc = selection && *selection ? parse_selection(selection, &sel) : 0;

	if (rc < 0)
		return rc;
	look_for_others(all, all_count, &sel);
	if (sel.count && !sel.exclude)
		choose_listed(c, all, all_count, &sel);
	else
		choose_default(c, all, all_count, &sel);
	wait_for_addresses(c);
	return 0;
}

static int
finish(const struct chosen *c, const struct tcpx_host_nic *all, unsigned all_count,
       const char *selection, unsigned *count)
{
	char inventory[INVENTORY];

	if (!first_fit(c)) {
		describe_all(all, all_count, inventory, sizeof(inventory));
		return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "NIC selection \"%.128s\" leaves none; "
				 "there is: %s", selection ? selection : "", inventory);
	}
	if (c->left_out)
		tcpx_warn(TCPX_SUB_HOST, "using %u NICs, the most that is allowed; %u more left "
			  "out", c->count, c->left_out);
	*count = c->count;
	return 0;
}

int
tcpx_host_nics_select(const struct tcpx_host_nic *all, unsigned all_count, const char *selection,
		      struct tcpx_host_nic *out, unsigned cap, unsigned *count)
{
	struct chosen c = { out, 0, cap < TCPX_HOST_NICS ? cap : TCPX_HOST_NICS, 0 };
	int rc = select_some(all, all_count, selection, &c);

	return rc < 0 ? rc : finish(&c, all, all_count, selection, count);
}

int
tcpx_host_nics_by(const struct tcpx_host_nic *all, unsigned all_count, const char **selection,
		  const char *source, struct tcpx_host_nic *out, unsigned cap, unsigned *count)
{
	struct chosen c = { out, 0, cap < TCPX_HOST_NICS ? cap : TCPX_HOST_NICS, 0 };
	char inventory[INVENTORY];
	int rc = select_some(all, all_count, *selection, &c);

	if (rc == 0 && !first_fit(&c) && tcpx_cfg_is_hint(source)) {
		describe_all(all, all_count, inventory, sizeof(inventory));
		tcpx_warn(TCPX_SUB_HOST, "%s \"%.128s\" leaves no NIC, and is not used; there is: %s",
			  source, *selection, inventory);
		*selection = "";
		c.count = 0;
		rc = select_some(all, all_count, "", &c);
	}
	return rc < 0 ? rc : finish(&c, all, all_count, *selection, count);
}
