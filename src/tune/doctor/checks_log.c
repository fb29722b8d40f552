/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of complaints by devices and the kernel, and of the devices' bus links. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/klog.h"
#include "tune/doctor/nvml.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define LINE 256
#define XIDS 32 /* kinds of Xids that are listed */

static void
judge_xids(const struct machine *m, bool ecc, struct check_result *r)
{
	struct {
		unsigned xid, count;
		char pci[32];
	} seen[XIDS];
	unsigned kinds = 0;
	const char *why, *at;
	char line[LINE], *text = klog_read(m, &why);

	if (!text)
		return check_unknown(r, "%s", why);
	for (at = text; (at = klog_next(at, "Xid (", line, sizeof(line))) != NULL;) {
		unsigned xid, i = 0;
		char pci[32];

		if (!klog_xid(line, &xid, pci, sizeof(pci)) || klog_xid_is_ecc(xid) != ecc)
			continue;
		while (i < kinds && (seen[i].xid != xid || strcmp(seen[i].pci, pci)))
			i++;
		if (i == XIDS)
			continue;
		if (i == kinds) {
			seen[kinds].xid = xid;
			seen[kinds].count = 0;
			snprintf(seen[kinds++].pci, sizeof(pci), "%s", pci);
		}
		seen[i].count++;
	}
	for (unsigned i = 0; i < kinds; i++)
		check_add(r, "Xid %u on %s%s%s, %u time%s", seen[i].xid, seen[i].pci,
			  *klog_xid_text(seen[i].xid) ? ": " : "", klog_xid_text(seen[i].xid),
			  seen[i].count, seen[i].count == 1 ? "" : "s");
	free(text);
}

static void
probe_xid(const struct machine *m, struct check_result *r)
{
	judge_xids(m, false, r);
	if (r->status != CHECK_UNKNOWN)
		check_judge(r, "none in the kernel's log");
}

/* Counts of the host's memory controllers; false: none has counts. */
static bool
add_edac(const struct machine *m, struct check_result *r)
{
	static const char *const kinds[][2] = { { "ue_count", "uncorrected" },
						{ "ce_count", "corrected" } };
	char names[4096];
	bool any = false;

	if (tcpx_host_names_read(m->root, "/sys/devices/system/edac/mc", names, sizeof(names)) < 0)
		return false;
	for (const char *name = names; *name; name += strlen(name) + 1) {
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			char path[384];
			long long n;

			snprintf(path, sizeof(path), "/sys/devices/system/edac/mc/%.200s/%s", name,
				 kinds[k][0]);
			n = machine_number(m, path);
			any |= n >= 0;
			if (n > 0)
				check_add(r, "%s: %lld %s errors", name, n, kinds[k][1]);
		}
	}
	return any;
}

/* The driver's counts: the number of GPUs that have them, and if 0, the reason. */
static unsigned
add_nvml(const struct machine *m, struct check_result *r, char *why, size_t cap)
{
	struct nvml_gpu gpu[NVML_GPUS];
	unsigned count, tell = 0;

	if (!m->here) {
		snprintf(why, cap, "%s is not this machine", m->root);
		return 0;
	}
	if (nvml_read(gpu, &count, why, cap) < 0)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		tell += gpu[i].ecc;
		if (gpu[i].uncorrected)
			check_add(r, "GPU %s: %llu uncorrected errors since its driver was loaded",
				  gpu[i].pci, gpu[i].uncorrected);
		if (gpu[i].remap_failed)
			check_add(r, "GPU %s: no row is left to replace a bad one", gpu[i].pci);
		else if (gpu[i].remap_pending)
			check_add(r, "GPU %s: a bad row is in use until the GPU is reset", gpu[i].pci);
	}
	snprintf(why, cap, "no GPU has ECC on");
	return tell;
}

static void
probe_ecc(const struct machine *m, struct check_result *r)
{
	char why[192], driver[256] = "", host[48];
	bool edac = add_edac(m, r);
	unsigned gpus = add_nvml(m, r, why, sizeof(why));

	if (r->evidence[0]) {
		r->status = CHECK_FINDING;
		return;
	}
	snprintf(host, sizeof(host), "%s", edac ? "none of the host" : "the host does not tell");
	if (gpus)
		snprintf(driver, sizeof(driver), "; none of %u GPU%s by their driver", gpus,
			 gpus == 1 ? "" : "s");
	else if (m->facts->gpu_count)
		snprintf(driver, sizeof(driver), "; the driver does not tell: %s", why);
	judge_xids(m, true, r);
	if (r->status == CHECK_UNKNOWN && gpus)
		check_ok(r, "%s%s; not known from before: the kernel's log cannot be read", host,
			 driver);
	else if (r->status != CHECK_UNKNOWN)
		check_judge(r, "none of GPUs in the kernel's log; %s%s", host, driver);
}

/* Is it a line about our NICs or about the bus that reports trouble? */
static bool
is_trouble(const struct machine *m, const char *line)
{
	static const char *const words[] = { "reset", "timed out", "timeout", "Link is Down",
					     "link down", "failed", "fatal", "AER:" };
	bool ours = false, bad = false;

	if (strstr(line, "NETDEV WATCHDOG"))
		return true;
	for (unsigned i = 0; i < m->nic_count && !ours; i++) {
		const struct tcpx_host_nic *nic = &m->nics[i];
		const char *at = nic->hardware ? strstr(line, nic->ifname) : NULL;

		ours = (at && !strchr("0123456789", at[strlen(nic->ifname)])) ||
		       (*nic->place.pci && strstr(line, nic->place.pci));
	}
	for (size_t i = 0; i < ARRAY_LEN(words) && ours && !bad; i++)
		bad = strcasestr(line, words[i]) != NULL;
	return bad;
}

static void
probe_nic_log(const struct machine *m, struct check_result *r)
{
	char line[LINE], last[LINE] = "", *text;
	unsigned count = 0;
	const char *why, *at;

	if (!m->nic_count) {
		check_skip(r, "no NIC is chosen");
		return;
	}
	text = klog_read(m, &why);
	if (!text)
		return check_unknown(r, "%s", why);
	for (at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (!is_trouble(m, line))
			continue;
		count++;
		memcpy(last, line, sizeof(last));
	}
	free(text);
	if (count)
		check_finding(r, "%u line%s, the last: %.200s", count, count == 1 ? "" : "s", last);
	else
		check_ok(r, "no trouble of NICs in the kernel's log");
}

/* ---- how devices are attached -------------------------------------------------------------- */

/* "16.0 GT/s PCIe"; false: the device has no such file, as many in virtual machines. */
static bool
read_link(const struct machine *m, const char *pci, const char *which, double *gts,
	  unsigned *width)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s_link_width", pci, which);
	if (tcpx_host_text_read(m->root, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u", width) != 1 || *width == 0 || *width > 64)
		return false;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s_link_speed", pci, which);
	return tcpx_host_text_read(m->root, path, text, sizeof(text)) > 0 &&
	       sscanf(text, "%lf", gts) == 1;
}

static void
judge_link(const struct machine *m, const char *what, const char *pci, bool speed_too,
	   unsigned *known, struct check_result *r)
{
	double now, max;
	unsigned width, width_max;

	if (!*pci || !read_link(m, pci, "current", &now, &width) ||
	    !read_link(m, pci, "max", &max, &width_max))
		return;
	++*known;
	/* an idle GPU lowers its speed, never its width */
	if (width < width_max || (speed_too && now < max))
		check_add(r, "%s %s: %.4g GT/s x%u of %.4g GT/s x%u", what, pci, now, width, max,
			  width_max);
}

static void
probe_pcie(const struct machine *m, struct check_result *r)
{
	unsigned known = 0, devices = m->facts->gpu_count;

	for (unsigned i = 0; i < m->nic_count; i++) {
		devices += m->nics[i].hardware;
		judge_link(m, m->nics[i].name, m->nics[i].place.pci, true, &known, r);
	}
	for (unsigned i = 0; i < m->facts->gpu_count; i++)
		judge_link(m, "GPU", m->facts->gpus[i].place.pci, false, &known, r);
	if (!devices)
		check_skip(r, "no device on the PCI bus");
	else if (known)
		check_judge(r, "%u of %u devices tell, all are as wide as they can be", known, devices);
	else
		check_unknown(r, "none of %u devices tells, as usual in virtual machines", devices);
}

static void
probe_driver(const struct machine *m, struct check_result *r)
{
	char first[64] = "", names[256] = "";
	unsigned known = 0, hardware = 0;

	for (unsigned i = 0; i < m->nic_count; i++) {
		const struct tcpx_host_nic *nic = &m->nics[i];
		char path[96], version[48];

		hardware += nic->hardware;
		snprintf(path, sizeof(path), "/sys/module/%s/version", nic->driver);
		if (!nic->hardware || !*nic->driver)
			continue;
		if (tcpx_host_text_read(m->root, path, version, sizeof(version)) <= 0)
			snprintf(version, sizeof(version), "as the kernel");
		known++;
		if (!strstr(names, nic->driver))
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s %s",
				 *names ? ", " : "", nic->driver, version);
		if (!*first)
			snprintf(first, sizeof(first), "%s", nic->driver);
		else if (strcmp(first, nic->driver))
			check_add(r, "%s has %s, others %s", nic->name, nic->driver, first);
	}
	if (!hardware)
		check_skip(r, "no hardware NIC is chosen");
	else if (!known)
		check_unknown(r, "no NIC tells its driver");
	else
		check_judge(r, "%s", names);
}

const struct check checks_log[] = {
	{ "xid", CHECK_ERROR, "Have GPUs had no errors?", probe_xid,
	  "nvidia-smi -q shows the GPU's state; after Xid 79, 119 or 120 only a reset or a new "
	  "machine helps. 13, 31, 43 and 45 are programs' own." },
	{ "ecc", CHECK_ERROR, "Has memory had no errors?", probe_ecc,
	  "nvidia-smi -q -d ECC,ROW_REMAPPER for GPUs; data that were wrong may come from there: have "
	  "the machine replaced." },
	{ "nic-log", CHECK_WARNING, "Has the kernel nothing to say against the NICs?", probe_nic_log,
	  "dmesg has all lines. A NIC that was reset has lost flow rules, and affinities perhaps: "
	  "tcpx irq verify." },
	{ "pcie", CHECK_WARNING, "Have NICs and GPUs all their PCIe lines?", probe_pcie,
	  "A card that sits badly or a slot that is shared: lspci -vv shows LnkSta beside LnkCap." },
	{ "nic-driver", CHECK_NOTE, "Have the NICs one driver?", probe_driver,
	  "Different drivers place interrupts and steer flows differently: choose NICs of one kind "
	  "(TCPX_NICS)." },
};

const size_t checks_log_count = ARRAY_LEN(checks_log);
