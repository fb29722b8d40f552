/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing the list of NICs; missing values are looked up on this host. */
#include "emu/topology.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/say.h"

#define TEXT_MAX 8192

static const char usual[] = "eth1=127.0.1.1,gpus=0+1;eth2=127.0.2.1,gpus=2+3;"
			    "eth3=127.0.3.1,gpus=4+5;eth4=127.0.4.1,gpus=6+7";

static bool
wrong(char *why, const char *what, const char *text)
{
	snprintf(why, EMU_WHY_BYTES, "%s: \"%.60s\"", what, text);
	return false;
}

static bool
number(const char *text, int max, int *out)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < 0 || value > max)
		return false;
	*out = (int)value;
	return true;
}

static bool
gpus_parse(const char *text, uint64_t *out)
{
	*out = 0;
	for (;;) {
		char *end;
		long gpu = strtol(text, &end, 10);

		if (end == text || gpu < 0 || gpu >= EMU_GPUS_MAX)
			return false;
		*out |= 1ull << gpu;
		if (!*end)
			return true;
		if (*end != '+')
			return false;
		text = end + 1;
	}
}

static bool
text_put(char *to, size_t cap, const char *text)
{
	size_t len = strlen(text);

	if (!len || len >= cap)
		return false;
	memcpy(to, text, len + 1);
	return true;
}

static bool
key_parse(struct emu_nic *nic, char *pair, char *why)
{
	char *value = strchr(pair, '=');

	if (!value)
		return wrong(why, "a key without a value", pair);
	*value++ = '\0';
	if (!strcmp(pair, "gpus"))
		return gpus_parse(value, &nic->gpus) ||
		       wrong(why, "gpus is numbers from 0 to 63, as 0+1", value);
	if (!strcmp(pair, "network"))
		return text_put(nic->network, sizeof(nic->network), value) ||
		       wrong(why, "network has 1 to 23 characters", value);
	if (!strcmp(pair, "pci")) {
		if (!strcmp(value, "none"))
			return (nic->pci[0] = '\0', true);
		return text_put(nic->pci, sizeof(nic->pci), value) ||
		       wrong(why, "pci has 1 to 95 characters", value);
	}
	if (!strcmp(pair, "numa"))
		return number(value, 1023, &nic->numa) ||
		       wrong(why, "numa is a number up to 1023", value);
	if (!strcmp(pair, "speed"))
		return number(value, INT_MAX, &nic->speed) ||
		       wrong(why, "speed is a number, in Mb/s", value);
	return wrong(why, "allowed are gpus, network, pci, numa, speed; not", pair);
}

static bool
nic_parse(struct emu_topology *t, char *text, char *why)
{
	struct emu_nic *nic = &t->nic[t->count];
	char *rest = text, *name = strsep(&rest, ","), *address = strchr(name, '=');

	if (t->count == EMU_NICS_MAX)
		return wrong(why, "at most 16 NICs", text);
	if (address)
		*address++ = '\0';
	*nic = (struct emu_nic){ .gpus = UINT64_MAX, .speed = 10000 };
	if (!text_put(nic->name, sizeof(nic->name), name))
		return wrong(why, "a NIC's name has 1 to 15 characters", name);
	for (unsigned i = 0; i < t->count; i++) {
		if (!strcmp(t->nic[i].name, name))
			return wrong(why, "twice the same NIC", name);
	}
	if (address && inet_pton(AF_INET, address, &nic->addr) != 1)
		return wrong(why, "not an IPv4 address", address);
	nic->has_addr = address;
	memcpy(nic->network, nic->name, sizeof(nic->name));
	snprintf(nic->pci, sizeof(nic->pci), "/sys/devices/pci0000:00/0000:%02x:00.0",
		 (6 + 6 * t->count) & 0xff);
	while (rest) {
		if (!key_parse(nic, strsep(&rest, ","), why))
			return false;
	}
	t->count++;
	return true;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct emu_nic *)a)->name, ((const struct emu_nic *)b)->name);
}

bool
emu_topology_parse(const char *text, struct emu_topology *t, char why[EMU_WHY_BYTES])
{
	char copy[TEXT_MAX], *rest = copy, *line;

	t->count = 0;
	if (strlen(text) >= sizeof(copy))
		return wrong(why, "too long", text);
	memcpy(copy, text, strlen(text) + 1);
	while ((line = strsep(&rest, "\n"))) {
		char *nic;

		line[strcspn(line, "#\r")] = '\0';
		while ((nic = strsep(&line, ";"))) {
			nic += strspn(nic, " \t");
			nic[strcspn(nic, " \t")] = '\0';
			if (*nic && !nic_parse(t, nic, why))
				return false;
		}
	}
	if (!t->count)
		return wrong(why, "no NIC in", text);
	qsort(t->nic, t->count, sizeof(t->nic[0]), by_name);
	return true;
}

static bool
listed(const char *name, const char *list, bool whole)
{
	while (*list) {
		size_t len = strcspn(list, ",:"), word = strcspn(list, ",");

		if (len && !strncmp(name, list, len) && (!whole || !name[len]))
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}

void
emu_topology_select(struct emu_topology *t, const char *list)
{
	bool other = *list == '^', whole = *list == '=';
	unsigned left = 0;

	list += other || whole;
	for (unsigned i = 0; i < t->count; i++) {
		if (listed(t->nic[i].name, list, whole) != other)
			t->nic[left++] = t->nic[i];
	}
	t->count = left;
}

bool
emu_topology_address(const char *interface, struct in_addr *out)
{
	struct ifaddrs *all, *one;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (one = all; one && !found; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET ||
		    strcmp(one->ifa_name, interface))
			continue;
		*out = ((struct sockaddr_in *)one->ifa_addr)->sin_addr;
		found = true;
	}
	freeifaddrs(all);
	return found;
}

static bool
file_read(const char *path, char text[TEXT_MAX])
{
	FILE *f = fopen(path, "re");
	size_t len;

	if (!f) {
		emu_warn("[topology] TCPX_EMU_TOPOLOGY=%s: %m", path);
		return false;
	}
	len = fread(text, 1, TEXT_MAX - 1, f);
	text[len] = '\0';
	fclose(f);
	return true;
}

enum nccl_result
emu_topology_read(struct emu_topology *t, const char *ifname)
{
	const char *file = getenv("TCPX_EMU_TOPOLOGY"), *nics = getenv("TCPX_EMU_NICS");
	char text[TEXT_MAX], why[EMU_WHY_BYTES];

	if (file && *file) {
		if (!file_read(file, text))
			return NCCL_INTERNAL_ERROR;
		nics = text;
	} else if (!nics || !*nics) {
		nics = usual;
	}
	if (!emu_topology_parse(nics, t, why)) {
		emu_warn("[topology] %s", why);
		return NCCL_INTERNAL_ERROR;
	}
	if (ifname && *ifname)
		emu_topology_select(t, ifname);
	for (unsigned i = 0; i < t->count; i++) {
		struct emu_nic *nic = &t->nic[i];

		if (!nic->has_addr && !emu_topology_address(nic->name, &nic->addr)) {
			emu_warn("[topology] %s has no address here: write %s=ADDRESS", nic->name,
				 nic->name);
			return NCCL_INTERNAL_ERROR;
		}
		emu_info("NIC %u %s %s network %s", i, nic->name, inet_ntoa(nic->addr),
			 nic->network);
	}
	if (!t->count)
		emu_warn("[topology] SOCKET_IFNAME=%s leaves no NIC", ifname);
	return t->count ? NCCL_OK : NCCL_INTERNAL_ERROR;
}
