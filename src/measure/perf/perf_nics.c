/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and subtracting the kernel's counters of NICs. An engine may use one NIC by
 * several addresses; it is listed once.
 */
#include "measure/perf/perf_nics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure/perf/job.h"

const char *const nic_counter_names[NIC_COUNTERS] = {
	"rx_bytes", "rx_packets", "rx_dropped", "rx_errors",
	"tx_bytes", "tx_packets", "tx_dropped", "tx_errors",
};

static uint64_t
read_counter(const char *nic, const char *counter)
{
	char path[128];
	uint64_t v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", nic, counter);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

static struct usage_nic *
find(const struct usage_nics *nics, const char *nic)
{
	for (size_t i = 0; i < nics->n; i++)
		if (!strcmp(nics->at[i].nic, nic))
			return (struct usage_nic *)&nics->at[i];
	return NULL;
}

/* NULL when there is no room, so that lists from outside are bounded too. */
static struct usage_nic *
find_or_add(struct usage_nics *nics, const char *nic)
{
	struct usage_nic *to = find(nics, nic);

	if (to || nics->n == USAGE_NICS)
		return to;
	to = &nics->at[nics->n++];
	*to = (struct usage_nic){ { 0 }, { 0 } };
	snprintf(to->nic, sizeof(to->nic), "%.31s", nic);
	return to;
}

void
usage_nics_read(tcpx_engine *engine, struct usage_nics *nics)
{
	struct tcpx_nic_info info[USAGE_NICS];
	size_t n = USAGE_NICS;

	nics->n = 0;
	if (tcpx_query_nics(engine, info, &n))
		return;
	for (size_t i = 0; i < n && i < USAGE_NICS; i++)
		find_or_add(nics, info[i].name);
	find_or_add(nics, "lo"); /* the kernel's way for traffic within this machine */
	for (size_t i = 0; i < nics->n; i++)
		for (size_t k = 0; k < NIC_COUNTERS; k++)
			nics->at[i].count[k] = read_counter(nics->at[i].nic, nic_counter_names[k]);
}

void
usage_nics_add_difference(struct usage_nics *sum, const struct usage_nics *before,
			  const struct usage_nics *after)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct usage_nic *now = &after->at[i], *then = find(before, now->nic);
		struct usage_nic *to = find_or_add(sum, now->nic);

		for (size_t k = 0; to && k < NIC_COUNTERS; k++)
			to->count[k] += now->count[k] - (then ? then->count[k] : 0);
	}
}

json_t *
usage_nics_format(const struct usage_nics *nics)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nics->n; i++) {
		json_t *nic = json_pack("{s:s}", "nic", nics->at[i].nic);

		for (size_t k = 0; k < NIC_COUNTERS; k++)
			json_object_set_new(nic, nic_counter_names[k],
					    json_integer((json_int_t)nics->at[i].count[k]));
		json_array_append_new(list, nic);
	}
	return list;
}

void
usage_nics_parse(const json_t *list, struct usage_nics *nics)
{
	nics->n = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		struct usage_nic *to = find_or_add(nics, job_text(v, "nic"));

		for (size_t k = 0; to && k < NIC_COUNTERS; k++) {
			json_int_t n = json_integer_value(json_object_get(v, nic_counter_names[k]));

			to->count[k] = n > 0 ? (uint64_t)n : 0;
		}
	}
}
