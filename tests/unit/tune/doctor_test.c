/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of interrupts, CPUs, GPUDirect-TCPX, the way to a peer and the kernel's log, each
 * on machines where all is well, where it is not, and where it is unknown.
 */
#include "../fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/peer_reach.h"

#define CPUS "cpus online=0-7 allowed=0-7\n"
#define NODES CPUS "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n"
#define NIC0 "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=10.0.0.1/24\n"
#define NIC1 "nic name=eth1 at=pci0000:00/0000:00:02.0 node=0 addr=10.0.1.1/24\n"
#define FAR "nic name=eth2 at=pci0000:80/0000:80:02.0 node=1 addr=10.0.2.1/24\n"
#define GPU "gpu at=pci0000:00/0000:00:04.0 node=0\n"
#define FILE_(path, text) "file path=" path " text=" text "\n"
/* vector N of a NIC's device, which fires on a CPU */
#define IRQ(pci, n, name, cpu) FILE_("sys/bus/pci/devices/" pci "/msi_irqs/" n, "msix") \
	FILE_("proc/irq/" n "/smp_affinity_list", cpu) \
	FILE_("proc/irq/" n "/effective_affinity_list", cpu) \
	FILE_("sys/kernel/irq/" n "/actions", name)
#define VEC0(cpu) IRQ("0000:00:01.0", "30", "eth0-TxRx-0", cpu)
#define VEC1(cpu) IRQ("0000:00:02.0", "40", "eth1-TxRx-0", cpu)
#define VEC2(cpu) IRQ("0000:80:02.0", "50", "eth2-TxRx-0", cpu)
#define STATUS(key, value) FILE_("proc/self/status", "Name:\n" key ":\t" value)
#define MOUNT(at, options) FILE_("proc/self/mountinfo", "22 1 8:1 / " at " " options " - x y rw")
#define MOUNTS(at, first, at2, then) FILE_("proc/self/mountinfo", "22 1 8:1 / " at " " first \
	" - x y rw\n23 22 8:1 / " at2 " " then " - x y rw")
#define CPUSET(cpus) FILE_("proc/self/cgroup", "0::/job") \
	FILE_("sys/fs/cgroup/job/cpuset.cpus.effective", cpus)
#define SYS_CPU "sys/devices/system/cpu/"
#define LINK(pci, now, max) FILE_("sys/bus/pci/devices/" pci "/current_link_width", now) \
	FILE_("sys/bus/pci/devices/" pci "/max_link_width", max) \
	FILE_("sys/bus/pci/devices/" pci "/current_link_speed", "16.0 GT/s PCIe") \
	FILE_("sys/bus/pci/devices/" pci "/max_link_speed", "16.0 GT/s PCIe")
#define RXDM FILE_("run/tcpx/rx_rule_manager", "") FILE_("run/tcpx/rx_rule_uninstall", "") \
	FILE_("run/tcpx/get_gpu_fd_0000:00:04.0", "")
#define SOCKETS(names) FILE_("proc/net/unix", "Num RefCount" names)
#define PLUGIN "usr/local/tcpx/lib64/libnccl-net-tcpx.so"
#define ROUTE FILE_("proc/net/route", "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF")
#define RULES(text) FILE_("ruleset", text)
#define OK CHECK_OK
#define BAD CHECK_FINDING
#define WHO CHECK_UNKNOWN
#define NOT CHECK_SKIPPED

static const struct {
	const char *id, *machine;
	enum check_status status;
	const char *evidence, *peer;
} rows[] = {
	/* interrupts */
	{ "irq-node", NODES NIC0 VEC0("2"), OK, "all 1", NULL },
	{ "irq-node", NODES NIC0 VEC0("5"), BAD, "eth0: 1 on another node", NULL },
	{ "irq-node", NODES NIC0 VEC0("2") FAR VEC2("1"), BAD, "eth2: 1", NULL },
	{ "irq-node", NODES NIC0, WHO, "", NULL },
	{ "irq-node", CPUS "node id=0 cpus=0-7\n" NIC0, NOT, "one NUMA node", NULL },
	{ "irq-share", NODES NIC0 NIC1 VEC0("2") VEC1("3"), OK, "none of 2", NULL },
	{ "irq-share", NODES NIC0 NIC1 VEC0("2") VEC1("2"), BAD, "CPU 2: eth0 and eth1", NULL },
	{ "irq-share", NODES NIC0, WHO, "", NULL },
	{ "irq-share", NODES, NOT, "no hardware", NULL },
	{ "irq-cpu0", NODES NIC0 VEC0("1"), OK, "none of 1", NULL },
	{ "irq-cpu0", NODES NIC0 VEC0("0"), BAD, "eth0: 1", NULL },
	{ "irq-cpu0", NODES NIC0, WHO, "", NULL },
	{ "irq-pools", NODES NIC0 VEC0("0"), NOT, "not that machine's", NULL },
	{ "bindings", NODES NIC0, NOT, "not that machine's", NULL },
	{ "queues", NODES NIC0 FILE_("settings", "eth0 channels.combined_max 1"), OK, "1 NIC", NULL },
	{ "queues", NODES NIC0 FILE_("settings", "eth0 channels.combined_max 4"), BAD,
	  "1 receive, 1 send, of 4", NULL },
	{ "queues", NODES NIC0, WHO, "", NULL },
	{ "queue-irqs", NODES NIC0 FILE_("queues", "eth0 rx 0 513 30 -\neth0 tx 0 513 30 -"), OK,
	  "all 2", NULL },
	{ "queue-irqs", NODES NIC0 FILE_("queues", "eth0 rx 0 513 30 -\neth0 tx 0 513 - -"), BAD,
	  "1 of 2 queues", NULL },
	{ "queue-irqs", NODES NIC0, WHO, "", NULL },
	{ "xps", NODES NIC0 FILE_("sys/class/net/eth0/queues/tx-0/xps_cpus", "0f"), OK, "all 1", NULL },
	{ "xps", NODES NIC0 FILE_("sys/class/net/eth0/queues/tx-0/xps_cpus", "f0"), BAD, "eth0: 1",
	  NULL },
	{ "xps", NODES NIC0, WHO, "", NULL },
	{ "napi-threads", NODES NIC0, NOT, "none", NULL },
	{ "napi-threads", NODES FILE_("proc/77/comm", "napi/eth0-5") FILE_("proc/77/status",
	  "Name:\nCpus_allowed_list:\t3"), OK, "all 1", NULL },
	{ "napi-threads", NODES FILE_("proc/77/comm", "napi/eth0-5") FILE_("proc/77/status",
	  "Name:\nCpus_allowed_list:\t3-4"), BAD, "napi/eth0-5", NULL },
	{ "moderation", NODES NIC0 FILE_("settings", "eth0 coalesce.rx_usecs 50"), OK, "1 NIC", NULL },
	{ "moderation", NODES NIC0 FILE_("settings", "eth0 coalesce.rx_usecs 0"), BAD, "eth0", NULL },
	{ "moderation", NODES NIC0, WHO, "", NULL },
	{ "busy-poll", FILE_("proc/sys/net/core/busy_poll", "0") FILE_("proc/sys/net/core/busy_read",
	  "0"), OK, "off", NULL },
	{ "busy-poll", FILE_("proc/sys/net/core/busy_poll", "50") FILE_("proc/sys/net/core/busy_read",
	  "0"), BAD, "50 us", NULL },
	{ "busy-poll", "", WHO, "busy_poll", NULL },

	/* CPUs and privileges */
	{ "privileges", STATUS("CapEff", "000001ffffffffff"), OK, "CAP_NET_ADMIN", NULL },
	{ "privileges", STATUS("CapEff", "00000000a80425fb"), BAD, "no CAP_NET_ADMIN", NULL },
	{ "privileges", "", WHO, "", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNT("/proc", "rw"), OK, "root", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNT("/proc/irq", "ro,nosuid"), BAD, "read-only",
	  NULL },
	{ "irq-files", STATUS("Uid", "0\t1000\t0\t0") MOUNT("/proc", "rw"), BAD, "only root", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNT("/proc", "rw") FILE_("proc/self/uid_map",
	  "0 0 4294967295"), OK, "root", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNT("/proc", "rw") FILE_("proc/self/uid_map",
	  "1 5 1\n0 100000 65536"), BAD, "user 100000 outside", NULL },
	/* the deepest mount counts, and of several at one place the last */
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNTS("/proc", "ro", "/proc", "rw"), OK,
	  "root", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNTS("/proc", "rw", "/proc", "ro"), BAD,
	  "read-only", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNTS("/proc/irq", "ro", "/", "rw"), BAD,
	  "read-only", NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0") MOUNTS("/", "ro", "/proc", "rw"), OK, "root",
	  NULL },
	{ "irq-files", STATUS("Uid", "0\t0\t0\t0"), WHO, "mountinfo", NULL },
	{ "irq-files", MOUNT("/", "rw"), WHO, "who we are", NULL },
	{ "cpuset", NODES FAR CPUSET("0-7"), OK, "whole nodes", NULL },
	{ "cpuset", NODES FAR CPUSET("4-7"), OK, "whole nodes", NULL },
	{ "cpuset", NODES FAR CPUSET("0-6"), BAD, "3 of 4 CPUs of node 1", NULL },
	{ "cpuset", NODES FAR CPUSET("0-3"), BAD, "no CPU of node 1, which has NICs", NULL },
	{ "cpuset", NODES FAR, WHO, "", NULL },
	{ "isolated", CPUS FILE_(SYS_CPU "isolated", ""), OK, "none", NULL },
	{ "isolated", CPUS FILE_(SYS_CPU "isolated", "6-7"), BAD, "6-7", NULL },
	{ "isolated", CPUS, WHO, "", NULL },
	{ "core-kinds", CPUS, OK, "of one kind", NULL },
	{ "core-kinds", CPUS FILE_("sys/devices/cpu_core/cpus", "0-3") FILE_("sys/devices/cpu_atom/cpus", "4-7"), BAD,
	  "4 of 8 are small: CPUs 4-7", NULL },
	{ "core-kinds", CPUS FILE_(SYS_CPU "cpu0/cpu_capacity", "1024") FILE_(SYS_CPU "cpu1/cpu_capacity", "900")
	  FILE_(SYS_CPU "cpu2/cpu_capacity", "718"), BAD, "1 of 8 are small: CPUs 2", NULL },
	{ "core-kinds", CPUS FILE_(SYS_CPU "cpu0/cpu_capacity", "446") FILE_(SYS_CPU "cpu1/cpu_capacity", "1024"), BAD,
	  "1 of 8 are small: CPUs 0", NULL },
	{ "smt", CPUS FILE_(SYS_CPU "smt/active", "0"), OK, "a CPU is a core", NULL },
	{ "smt", CPUS FILE_(SYS_CPU "smt/active", "1"), BAD, "half as many cores", NULL },
	{ "smt", CPUS, WHO, "", NULL },
	{ "numa-balance", NODES FILE_("proc/sys/kernel/numa_balancing", "0"), OK, "off", NULL },
	{ "numa-balance", NODES FILE_("proc/sys/kernel/numa_balancing", "1"), BAD, "on", NULL },
	{ "numa-balance", NODES, WHO, "", NULL },
	{ "governor", CPUS FILE_(SYS_CPU "cpu0/cpufreq/scaling_governor", "performance"), OK, "1 CPUs",
	  NULL },
	{ "governor", CPUS FILE_(SYS_CPU "cpu0/cpufreq/scaling_governor", "powersave"), BAD,
	  "powersave on 1 of 1", NULL },
	{ "governor", CPUS, NOT, "", NULL },
	{ "steal", FILE_("proc/stat", "cpu 100 0 100 900 0 0 0 1"), OK, "0.5 %", NULL },
	{ "steal", FILE_("proc/stat", "cpu 100 0 100 900 0 0 0 50"), BAD, "20.0 %", NULL },
	/* interrupts are busy time, waiting for disks is not */
	{ "steal", FILE_("proc/stat", "cpu 70 10 20 900 9000 40 60 50"), BAD, "20.0 %", NULL },
	{ "steal", FILE_("proc/stat", "cpu 100 0"), WHO, "", NULL },
	{ "irq-time", FILE_("proc/sys/kernel/osrelease", "6.1") FILE_("boot/config-6.1",
	  "CONFIG_X=y\nCONFIG_IRQ_TIME_ACCOUNTING=y"), OK, "", NULL },
	{ "irq-time", FILE_("proc/sys/kernel/osrelease", "6.1") FILE_("boot/config-6.1",
	  "# CONFIG_IRQ_TIME_ACCOUNTING is not set"), BAD, "", NULL },
	{ "irq-time", FILE_("proc/sys/kernel/osrelease", "6.1"), WHO, "", NULL },

	/* GPUDirect-TCPX */
	{ "devmem", FILE_("dmesg", "[1.0] TCP: devmem-tcp enabled"), OK, "devmem-tcp enabled", NULL },
	{ "devmem", FILE_("proc/sys/kernel/osrelease", "6.18.0") FILE_("boot/config-6.18.0",
	  "CONFIG_NET_DEVMEM=y"), OK, "CONFIG_NET_DEVMEM", NULL },
	{ "devmem", FILE_("proc/sys/kernel/osrelease", "6.18.0") FILE_("boot/config-6.18.0",
	  "CONFIG_NET=y"), BAD, "without", NULL },
	{ "devmem", FILE_("proc/sys/kernel/osrelease", "5.15.0-gcp"), WHO, "cannot be read", NULL },
	{ "devmem", FILE_("proc/sys/kernel/osrelease", "6.18.0"), WHO, "may have", NULL },
	{ "hdr-split", NODES NIC0 GPU FILE_("settings", "eth0 rings.tcp_data_split 2"), OK, "1 NIC",
	  NULL },
	{ "hdr-split", NODES NIC0 GPU FILE_("settings", "eth0 rings.tcp_data_split 1"), BAD, "eth0",
	  NULL },
	{ "hdr-split", NODES NIC0 GPU, WHO, "rings.tcp_data_split", NULL },
	{ "hdr-split", NODES NIC0, NOT, "no GPU", NULL },
	{ "ntuple", NODES NIC0 GPU FILE_("settings", "eth0 features.ntuple 1"), OK, "1 NIC", NULL },
	{ "ntuple", NODES NIC0 GPU FILE_("settings", "eth0 features.ntuple 0"), BAD, "eth0", NULL },
	{ "ntuple", NODES NIC0 GPU, WHO, "", NULL },
	{ "plugin-file", FILE_(PLUGIN, "x") MOUNT("/usr", "ro,relatime"), OK, PLUGIN, NULL },
	{ "plugin-file", FILE_(PLUGIN, "x") MOUNT("/usr/local", "rw,noexec"), BAD, "noexec", NULL },
	{ "plugin-file", FILE_(PLUGIN, "x") MOUNT("/usr/loca", "rw,noexec"), WHO, "mountinfo", NULL },
	{ "plugin-file", "", NOT, "none is named", NULL },
	{ "plugin", "", NOT, "is not this machine", NULL },
	{ "rxdm", GPU RXDM SOCKETS("\n0: 2 /run/tcpx/rx_rule_manager\n1: 2 /run/tcpx/rx_rule_uninstall"),
	  OK, "1 GPUs", NULL },
	{ "rxdm", GPU RXDM SOCKETS("\n0: 2 /run/tcpx/rx_rule_manager"), BAD,
	  "rx_rule_uninstall is left over", NULL },
	{ "rxdm", GPU RXDM SOCKETS("\n0: 2 /run/tcpx/rx_rule_manager2"), BAD,
	  "rx_rule_manager is left over", NULL },
	{ "rxdm", RXDM "gpu at=pci0000:00/0000:00:09.0 node=0\n", BAD, "get_gpu_fd_0000:00:09.0", NULL },
	{ "rxdm", FILE_("run/tcpx/other", ""), BAD, "rx_rule_manager is missing", NULL },
	{ "rxdm", "", NOT, "no /run/tcpx", NULL },
	{ "rxdm", FILE_("run/tcpx/77-cddc6b10dc00e78d.sock", ""), NOT, "nothing of it", NULL },
	{ "rxdm", FILE_("run/tcpx/77-cddc6b10dc00e78d.sock", "") FILE_("run/tcpx/rx_rule_manager", ""),
	  BAD, "rx_rule_uninstall is missing", NULL },
	{ "rxdm-log", FILE_("run/tcpx/rxdm.log", "I1012 10:00:00 1 a.cc:3] Error is a word"), OK,
	  "none in 1 file", NULL },
	{ "rxdm-log", FILE_("var/log/containers/pod_tcpx-daemon-1.log",
	  "2026 stderr F E1012 10:00:00 7 b.cc:4] no rule\nI1012 10:00:01 fine"), BAD, "no rule", NULL },
	{ "rxdm-log", FILE_("var/log/containers/other.log", "E1012 10:00:00 b.cc:4] no rule"), NOT, "",
	  NULL },

	/* addresses of NICs */
	{ "addresses", NIC0 NIC1, OK, "all 2", NULL },
	{ "addresses", NIC0 "nic name=eth1 at=pci0000:00/0000:00:02.0 node=0\n", BAD, "eth1 has none", NULL },
	{ "addresses", NIC0 "nic name=eth1 at=pci0000:00/0000:00:02.0 node=0 addr=169.254.1.1/16\n"
	  "nic name=eth2 addr=169.254.2.1/16\nnic name=eth3 addr=fe80::1/64\n", BAD, "TCPX_NICS=eth1,eth2 takes", NULL },
	{ "addresses", "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=fe80::1/64\n"
	  "nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n", OK, "all 1", NULL },
	{ "loopback", "nic name=lo loopback=1 addr=127.0.0.1/8\n", BAD, "only the loopback", NULL },
	{ "loopback", "nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n", OK, "by 1 of the 1", NULL },

	/* the way to a peer */
	{ "peer-address", NIC0, NOT, "--peer", NULL },
	{ "peer-address", NIC0 ROUTE, OK, "1, by NICs", "10.0.0.9" },
	{ "peer-address", NIC0, WHO, "route", "10.0.0.9" },
	{ "peer-address", NIC0 ROUTE, BAD, "loopback", "127.0.0.1" },
	{ "peer-address", NIC0 ROUTE, BAD, "this machine's own", "10.0.0.9,10.0.0.1" },
	{ "peer-address", NIC0 ROUTE, BAD, "192.0.2.1: no route", "192.0.2.1:99" },
	{ "peer-address", NIC1 ROUTE, BAD, "by eth0, which is not used", "10.0.0.9" },
	/* the first route is that of another NIC; a socket that is bound to ours has its
	 * own */
	{ "peer-address", NIC1 FILE_("proc/net/route", "eth0\t0001000A\t0\t0001\t0\t0\t0\t00FFFFFF\n"
	  "eth1\t0001000A\t0\t0001\t0\t0\t9\t00FFFFFF"), OK, "1, by NICs", "10.0.1.9" },
	{ "peer-address", "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=10.0.0.1/24\n"
	  "nic name=eth1 at=pci0000:00/0000:00:05.0/0000:01:00.0/0000:02:00.0 node=0 addr=10.0.1.1/24\n"
	  "gpu at=pci0000:00/0000:00:05.0/0000:01:00.0/0000:02:01.0 node=0\n" ROUTE, BAD,
	  "no GPU's NIC", "10.0.0.9" },
	{ "peer-address", NIC0, BAD, "no address", "somewhere" },
	{ "peer-address", NIC0, BAD, "no port", "10.0.0.9:0" },
	{ "peer-paths", NIC0, NOT, "is not this machine", "10.0.0.9" },
	{ "peer-ports", NIC0, NOT, "is not this machine", "10.0.0.9" },
	{ "peer-back", NIC0, NOT, "is not this machine", "10.0.0.9" },
	{ "firewall", NIC0 RULES("*nat\n:INPUT ACCEPT [0:0]"), OK, "no filter", NULL },
	{ "firewall", NIC0 RULES("*filter\n:INPUT DROP [0:0]"), WHO, "policy DROP", NULL },
	{ "firewall", NIC0, WHO, "ruleset", NULL },
	{ "firewall", "", NOT, "no NIC", NULL },
	{ "somaxconn", FILE_("proc/sys/net/core/somaxconn", "4096"), OK, "4096", NULL },
	{ "somaxconn", FILE_("proc/sys/net/core/somaxconn", "64"), BAD, "64", NULL },
	{ "somaxconn", "", WHO, "", NULL },
	{ "socket-max", FILE_("proc/sys/net/core/rmem_max", "212992")
	  FILE_("proc/sys/net/core/wmem_max", "16777216"), BAD, "rmem_max is 212992", NULL },
	{ "socket-max", FILE_("proc/sys/net/core/rmem_max", "16777216"), WHO, "wmem_max", NULL },
	{ "optmem", FILE_("proc/sys/net/core/optmem_max", "20480"), BAD, "20480", NULL },
	{ "optmem", "", WHO, "", NULL },

	/* logs and links */
	{ "xid", FILE_("dmesg", "[1.0] all is well"), OK, "none", NULL },
	{ "xid", FILE_("dmesg", "[1.0] NVRM: Xid (PCI:0000:04:00): 79, pid=1\n"
	  "[2.0] NVRM: Xid (PCI:0000:04:00): 79, pid=2"), BAD,
	  "Xid 79 on 0000:04:00: the GPU has fallen off the bus, 2 times", NULL },
	{ "xid", FILE_("dmesg", "[1.0] NVRM: Xid (PCI:0000:04:00): 48, pid=1"), OK, "none", NULL },
	{ "xid", "", WHO, "no file dmesg", NULL },
	{ "ecc", FILE_("dmesg", "[1.0] NVRM: Xid (PCI:0000:04:00): 48, pid=1"), BAD, "uncorrectable",
	  NULL },
	{ "ecc", FILE_("sys/devices/system/edac/mc/mc0/ue_count", "0")
	  FILE_("sys/devices/system/edac/mc/mc0/ce_count", "3"), BAD, "mc0: 3 corrected", NULL },
	{ "ecc", FILE_("dmesg", "") FILE_("sys/devices/system/edac/mc/mc0/ue_count", "0"), OK,
	  "none of the host", NULL },
	{ "ecc", FILE_("sys/devices/system/edac/mc/mc0/ue_count", "0"), WHO, "", NULL },
	{ "nic-log", NIC0 FILE_("dmesg", "[1.0] eth0: up"), OK, "no trouble", NULL },
	{ "nic-log", NIC0 FILE_("dmesg", "[1.0] gve 0000:00:01.0 eth0: Performing reset"), BAD, "1 line",
	  NULL },
	{ "nic-log", NIC0 FILE_("dmesg", "[1.0] NETDEV WATCHDOG: eth0: transmit queue 3 timed out"), BAD,
	  "WATCHDOG", NULL },
	{ "nic-log", NIC0 FILE_("dmesg", "[1.0] eth01: reset"), OK, "", NULL },
	{ "nic-log", NIC0, WHO, "", NULL },
	{ "pcie", NIC0 LINK("0000:00:01.0", "16", "16"), OK, "1 of 1", NULL },
	{ "pcie", NIC0 LINK("0000:00:01.0", "8", "16"), BAD, "x8 of 16 GT/s x16", NULL },
	{ "pcie", NIC0 GPU LINK("0000:00:04.0", "4", "16"), BAD, "GPU 0000:00:04.0", NULL },
	{ "pcie", NIC0, WHO, "none of 1", NULL },
	{ "pcie", "", NOT, "no device", NULL },
	{ "nic-driver", "nic name=e0 at=pci0000:00/0000:00:01.0 driver=gve addr=10.0.0.1/24\n"
	  FILE_("sys/module/gve/version", "1.4.3"), OK, "gve 1.4.3", NULL },
	{ "nic-driver", "nic name=e0 at=pci0000:00/0000:00:01.0 driver=gve addr=10.0.0.1/24\n"
	  "nic name=e1 at=pci0000:00/0000:00:02.0 driver=virtio_net addr=10.0.1.1/24\n", BAD,
	  "e1 has virtio_net", NULL },
	{ "nic-driver", NIC0, WHO, "", NULL },
};

static void
probe(const struct machine *m, const char *id, struct check_result *r)
{
	const struct check *check = check_find(id);

	if (!check)
		fail_msg("no check %s", id);
	*r = (struct check_result){ .status = CHECK_OK };
	check->probe(m, r);
}

/* "\n" in a text begins a line of the file: the fixture's own lines end at it. */
static void
make(struct fixture *f, const char *machine)
{
	char *text = strdup(machine), *at = text;

	assert_non_null(text);
	while (*at) {
		char *end = strchr(at, '\n'), *file;
		char path[256];

		/* a "file" goes on until the next line that begins as a thing does */
		while (!strncmp(at, "file ", 5) && end && end[1] && strncmp(end + 1, "file ", 5) &&
		       strncmp(end + 1, "nic ", 4) && strncmp(end + 1, "gpu ", 4) &&
		       strncmp(end + 1, "node ", 5) && strncmp(end + 1, "cpus ", 5))
			end = strchr(end + 1, '\n');
		if (end)
			*end = '\0';
		file = strstr(at, " text=");
		if (!strncmp(at, "file ", 5) && file) {
			snprintf(path, sizeof(path), "%.*s", (int)(file - at - 10), at + 10);
			fixture_write(f, path, file + 6);
		} else {
			fixture_add(f, at);
		}
		at = end ? end + 1 : at + strlen(at);
	}
	free(text);
}

TEST(each_check_tells_well_ill_and_unknown)
{
	unsigned wrong = 0;

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;
		struct machine *m;
		struct fixture f;

		fixture_init(&f);
		make(&f, rows[i].machine);
		m = machine_new("test", f.root, "");
		assert_non_null(m);
		m->peer = rows[i].peer;
		probe(m, rows[i].id, &r);
		if (r.status != rows[i].status || !strstr(r.evidence, rows[i].evidence))
			print_error("row %zu, %s: %s \"%s\", want %s \"%s\"\n", i, rows[i].id,
				    check_status_name(r.status), r.evidence,
				    check_status_name(rows[i].status), rows[i].evidence);
		wrong += r.status != rows[i].status || !strstr(r.evidence, rows[i].evidence);
		machine_free(m);
		fixture_fini(&f);
	}
	assert_int_equal(wrong, 0);
}

/* Nothing is ever well where nothing can be read; some need no file. */
TEST(an_empty_machine_passes_nothing_by_mistake)
{
	static const char *const fine[] = { "settings", "container" };
	const struct check *check;
	unsigned wrong = 0;
	struct machine *m;
	struct fixture f;

	capture_start();
	fixture_init(&f);
	m = machine_new("test", f.root, "");
	assert_non_null(m);
	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		struct check_result r = { .status = CHECK_OK };
		bool needs_none = false;

		check->probe(m, &r);
		for (size_t k = 0; k < ARRAY_LEN(fine); k++)
			needs_none |= !strcmp(check->id, fine[k]);
		if (r.status == CHECK_OK && !needs_none)
			print_error("%s: ok, \"%s\"\n", check->id, r.evidence);
		wrong += (r.status == CHECK_OK && !needs_none) || !r.evidence[0];
	}
	assert_int_equal(wrong, 0);
	machine_free(m);
	fixture_fini(&f);
}

TEST(the_a3_high_machine_is_judged_whole)
{
	const struct check *check;
	struct machine *m;
	struct fixture f;

	capture_start();
	fixture_init(&f);
	fixture_add_machine(&f, "a3-high");
	m = machine_new("test", f.root, "eth1,eth2,eth3,eth4");
	assert_non_null(m);
	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		struct check_result r = { .status = CHECK_OK };

		check->probe(m, &r);
		assert_true(r.evidence[0] != '\0');
		if (r.status == CHECK_FINDING)
			fail_msg("%s: %s", check->id, r.evidence);
	}
	machine_free(m);
	fixture_fini(&f);
}

/* By our names and by the plugin's; whether they fit depends on the machine. */
TEST(bindings_are_judged_by_either_name)
{
	static const char *const names[] = { "TCPX_TX_BINDINGS", "NCCL_GPUDIRECTTCPX_TX_BINDINGS" };

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct check_result r;
		struct machine *m;

		setenv(names[i], "nosuch0:0-0", 1);
		m = machine_new("test", "/", "lo");
		assert_non_null(m);
		probe(m, "bindings", &r);
		check(names[i], "status", r.status, CHECK_FINDING);
		check_has(r.evidence, "nosuch0");
		unsetenv(names[i]);
		machine_free(m);
	}
}

TEST(paths_are_tried_from_each_address)
{
	static struct reach open, shut;
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(addr);
	struct check_result r;
	struct machine *m;
	char peer[64];
	int fd;

	capture_start();
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(listen(fd, 4), 0);
	snprintf(peer, sizeof(peer), "127.0.0.1:%u", ntohs(addr.sin_port));
	m = machine_new("test", "/", "127.0.0.2,127.0.0.3");
	assert_non_null(m);
	m->peer = peer;
	m->reach = &open;
	probe(m, "peer-paths", &r);
	if (r.status != CHECK_OK)
		fail_msg("%s", r.evidence);
	check_has(r.evidence, "2 pairs");
	close(fd); /* the port answers, but nobody listens */
	m->reach = &shut;
	probe(m, "peer-paths", &r);
	assert_int_equal(r.status, CHECK_FINDING);
	check_has(r.evidence, "nobody listens");
	machine_free(m);
}

int
main(void)
{
	for (char **var = environ; *var;) {
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*var, "="), *var);
		if (strncmp(name, "TCPX_", 5) && strncmp(name, "NCCL_", 5) &&
		    strcmp(name, "KUBERNETES_SERVICE_HOST"))
			var++;
		else
			unsetenv(name);
	}
	return run_cases(NULL, NULL);
}
