/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of tcpx doctor, each on machines with and without its finding. */
#include "../fixture.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tune/doctor/checks.h"

#define PAIR                                                                               \
	"nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 mtu=1500 addr=10.0.0.1/24\n"      \
	"nic name=eth1 at=pci0000:00/0000:00:02.0 node=0 mtu=1500 addr=10.0.0.2/24\n"
#define CONF "file path=proc/sys/net/ipv4/conf/"
#define ARP CONF "all/arp_ignore text=1\n" CONF "all/arp_announce text=2\n"
#define NODES "cpus online=0-7\nnode id=0 cpus=0-3\nnode id=1 cpus=4-7\n"
#define NIC0 "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=10.0.0.1/24\n"
#define CPUS0 "cpus online=0-7\nnode id=0 cpus=0-7\n"
#define SWITCHED "nic name=eth1 at=pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0 node=0 addr=10.0.0.1/24\n" \
		 "gpu at=pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0 node=0\n"
#define UNUSED "nic name=docker0 addr=10.0.0.2/24\n"
#define IN_10_0_0(by) by "\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF"
#define LO "nic name=lo loopback=1 addr=127.0.0.1/8\n"
#define IPV4 "file path=proc/sys/net/ipv4/"
#define KERNEL "file path=proc/sys/kernel/osrelease text="

static const struct {
	const char *name, *id, *machine;
	enum check_status status;
	const char *evidence; /* a part of it */
} rows[] = {
	{ "a NIC", "nics", NIC0, CHECK_OK, "eth0 10.0.0.1/24" },
	{ "no NIC", "nics", "", CHECK_FINDING, "chooses none of 0" },
	{ "a NIC", "loopback", NIC0, CHECK_OK, "" },
	{ "lo", "loopback", LO, CHECK_FINDING, "only the loopback" },
	{ "no NIC", "loopback", "", CHECK_SKIPPED, "no NIC" },
	{ "up", "nics-up", NIC0, CHECK_OK, "all 1" },
	{ "down", "nics-up", "nic name=e at=pci0000:00/0000:00:01.0 state=down", CHECK_FINDING,
	  "e is down" },
	{ "virtual ones may be down", "nics-up", "nic name=e state=down\n" LO, CHECK_SKIPPED, "" },
	{ "address", "addresses", NIC0, CHECK_OK, "all 1" },
	{ "no address", "addresses", "nic name=e at=pci0000:00/0000:00:01.0", CHECK_FINDING,
	  "e has none" },
	{ "one NIC", "subnets", NIC0, CHECK_SKIPPED, "fewer" },
	{ "strict filter", "subnets", PAIR ARP CONF "eth1/rp_filter text=1", CHECK_FINDING,
	  "eth0 and eth1: rp_filter 1, arp_ignore 1, arp_announce 2" },
	{ "the greater value counts", "subnets", PAIR ARP CONF "all/rp_filter text=1\n" CONF
	  "eth1/rp_filter text=2", CHECK_OK, "1 pairs" },
	{ "ARP of both", "subnets", PAIR CONF "all/arp_ignore text=0", CHECK_FINDING,
	  "arp_ignore 0" },
	{ "a NIC that is not used answers, too", "subnets", NIC0 UNUSED CONF "eth0/arp_ignore text=1\n"
	  CONF "docker0/arp_ignore text=0", CHECK_FINDING, "docker0 and eth0: rp_filter -1, arp_ignore 0" },
	{ "its filter does not matter", "subnets", NIC0 UNUSED ARP CONF "docker0/rp_filter text=1\n"
	  "file path=proc/net/route text=" IN_10_0_0("eth0"), CHECK_OK, "1 pairs" },
	{ "that of the one that is", "subnets", NIC0 UNUSED ARP CONF "eth0/rp_filter text=1\n"
	  "file path=proc/net/route text=" IN_10_0_0("docker0"), CHECK_FINDING, "rp_filter 1" },
	{ "A3-high has a subnet a NIC", "subnets", "@a3-high", CHECK_OK, "no two" },
	{ "MTU", "mtu", PAIR, CHECK_OK, "1500" },
	{ "small MTU", "mtu", "@virtio-2cpu", CHECK_FINDING, "eth0 has 1400, below 1500" },
	{ "control NIC differs", "mtu", "@a3-high", CHECK_FINDING, "eth0 has 1460 but eth1 8244" },
	{ "loopback has its own", "mtu", LO, CHECK_UNKNOWN, "" },
	{ "one node", "nic-nodes", "@virtio-2cpu", CHECK_SKIPPED, "one NUMA node" },
	{ "known nodes", "nic-nodes", "@a3-high", CHECK_OK, "all 5" },
	{ "node -1", "nic-nodes", NODES "nic name=e at=pci0000:00/0000:00:01.0 addr=10.0.0.1/24",
	  CHECK_FINDING, "e" },
	{ "no GPU", "gpu-nics", NIC0, CHECK_SKIPPED, "no GPU" },
	{ "a NIC a switch", "gpu-nics", "@a3-high", CHECK_OK, "all 8" },
	{ "GPU far away", "gpu-nics", NODES NIC0 "gpu at=pci0000:80/0000:80:01.0 node=1",
	  CHECK_FINDING, "GPU 0000:80:01.0: the nearest, eth0, is on another node" },
	{ "no NIC at one's switch", "gpu-nics", CPUS0 SWITCHED "gpu at=pci0000:00/0000:00:02.0/0000:07:00.0/0000:08:00.0 node=0",
	  CHECK_FINDING, "GPU 0000:08:00.0: no NIC is at its own PCIe switch, as GPUDirect-TCPX needs it; the nearest is eth1" },
	{ "none at any", "gpu-nics", CPUS0 NIC0 "gpu at=pci0000:00/0000:00:02.0 node=0", CHECK_OK,
	  "all 1; none has a NIC at its own PCIe switch" },
	{ "large buffers", "buffers", "@a3-high", CHECK_OK, "6291456" },
	{ "small buffers", "buffers", IPV4 "tcp_rmem text=4096 131072 6291456\n" IPV4
	  "tcp_wmem text=4096 16384 4194303", CHECK_FINDING, "tcp_wmem ends at 4194303" },
	{ "half a line", "buffers", IPV4 "tcp_rmem text=4096", CHECK_UNKNOWN, "tcp_rmem" },
	{ "cubic", "congestion", "@a3-high", CHECK_OK, "cubic" },
	{ "reno", "congestion", IPV4 "tcp_congestion_control text=reno", CHECK_FINDING, "reno" },
	{ "unreadable", "congestion", "", CHECK_UNKNOWN, "cannot be read" },
	{ "enough CPUs", "threads", "@a3-high", CHECK_OK, "12 I/O threads on 208 CPUs" },
	{ "unknown CPUs", "threads", "", CHECK_UNKNOWN, "not known" },
	{ "all CPUs", "affinity", "cpus online=0-7 allowed=0-7", CHECK_OK, "all 8" },
	{ "narrowed", "affinity", "cpus online=0-7 allowed=2-3", CHECK_FINDING, "2 of 8: 2-3" },
	{ "no cgroup", "quota", "", CHECK_SKIPPED, "" },
	{ "no quota", "quota", "cpus online=0-7\nfile path=sys/fs/cgroup/cpu.max text=max 100000",
	  CHECK_OK, "no quota" },
	{ "quota", "quota", "cpus online=0-7\nfile path=sys/fs/cgroup/cpu.max text=250000 100000",
	  CHECK_FINDING, "time of 2.5 CPUs on 8" },
	{ "wide quota", "quota", "cpus online=0-1\nfile path=sys/fs/cgroup/cpu.max text=200000 "
	  "100000", CHECK_OK, "2.0" },
	{ "old kernel", "kernel", KERNEL "4.18.0-513.el8", CHECK_FINDING, "older" },
	{ "no devmem", "kernel", KERNEL "6.11.0", CHECK_OK, "neither receive" },
	{ "devmem receive", "kernel", KERNEL "6.12.1", CHECK_OK, "receive, not send" },
	{ "devmem both", "kernel", KERNEL "6.16", CHECK_OK, "receive and send" },
	{ "no version", "kernel", KERNEL "unknown", CHECK_UNKNOWN, "" },
	{ "wide range", "port-range", IPV4 "ip_local_port_range text=32768\t60999", CHECK_OK,
	  "32768 to 60999" },
	{ "small range", "port-range", IPV4 "ip_local_port_range text=50000 50999", CHECK_FINDING,
	  "fewer than 4096" },
	{ "over our port", "port-range", IPV4 "ip_local_port_range text=1024 65535", CHECK_FINDING,
	  "TCPX_PORT 28515 is within" },
	{ "runs", "irqbalance", "file path=proc/77/comm text=irqbalance", CHECK_FINDING, "" },
	{ "only names it", "irqbalance", "file path=proc/77/comm text=irqbalance-ui\n"
	  "file path=proc/self/comm text=irqbalance", CHECK_OK, "" },
	{ "no container", "container", NIC0, CHECK_OK, "no sign" },
	{ "NICs seen", "container", NIC0 "file path=.dockerenv text=", CHECK_OK, "/.dockerenv" },
	{ "NICs hidden", "container", LO "file path=run/.containerenv text=", CHECK_FINDING,
	  "sees no hardware NIC" },
	{ "elsewhere", "files", "", CHECK_SKIPPED, "is not this machine" },
	{ "elsewhere", "memlock", "", CHECK_SKIPPED, "is not this machine" },
	{ "elsewhere", "port", "", CHECK_SKIPPED, "is not this machine" },
	{ "elsewhere", "variables", "", CHECK_SKIPPED, "is not this machine" },
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

TEST(findings_are_found_and_nothing_else)
{
	capture_start(); /* machines without NICs or CPUs are logged */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;
		struct machine *m;
		struct fixture f;
		char name[128];

		snprintf(name, sizeof(name), "%s: %s", rows[i].id, rows[i].name);
		fixture_init(&f);
		if (rows[i].machine[0] == '@')
			fixture_add_machine(&f, rows[i].machine + 1);
		else
			fixture_add(&f, rows[i].machine);
		m = machine_new("test", f.root, "");
		assert_non_null(m);
		probe(m, rows[i].id, &r);
		if (r.status != rows[i].status || !strstr(r.evidence, rows[i].evidence))
			fail_msg("%s: %s \"%s\", want %s \"%s\"", name,
				 check_status_name(r.status), r.evidence,
				 check_status_name(rows[i].status), rows[i].evidence);
		machine_free(m);
		fixture_fini(&f);
	}
}

TEST(variables_that_nobody_reads_are_named)
{
	struct check_result r;
	struct machine *m;

	capture_start();
	setenv("TCPX_CHUNKK", "1", 1);
	setenv("TCPX_NICS", "lo", 1);
	m = machine_new("test", "/", "lo");
	assert_non_null(m);
	probe(m, "variables", &r);
	assert_int_equal(r.status, CHECK_FINDING);
	check_has(r.evidence, "TCPX_CHUNKK (is TCPX_CHUNK meant?)");
	assert_null(strstr(r.evidence, "TCPX_NICS"));
	unsetenv("TCPX_CHUNKK");
	unsetenv("TCPX_NICS");
	machine_free(m);
}

TEST(refused_settings_leave_the_other_checks)
{
	struct check_result r;
	struct machine *m;

	capture_start();
	setenv("TCPX_CHUNK", "9", 1);
	m = machine_new("test", "/", "lo");
	unsetenv("TCPX_CHUNK");
	assert_non_null(m);
	probe(m, "settings", &r);
	assert_int_equal(r.status, CHECK_FINDING);
	probe(m, "port", &r);
	assert_int_equal(r.status, CHECK_SKIPPED);
	probe(m, "threads", &r);
	assert_int_not_equal(r.status, CHECK_SKIPPED);
	machine_free(m);
}

TEST(a_taken_port_is_found)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	struct check_result r;
	struct machine *m;
	char text[32];
	int fd;

	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(text, sizeof(text), "%u", ntohs(addr.sin_port));
	setenv("TCPX_PORT", text, 1);
	m = machine_new("test", "/", "lo");
	unsetenv("TCPX_PORT");
	assert_non_null(m);
	probe(m, "port", &r);
	assert_int_equal(r.status, CHECK_FINDING);
	check_has(r.evidence, text);
	close(fd);
	probe(m, "port", &r);
	assert_int_equal(r.status, CHECK_OK);
	machine_free(m);
}

TEST(few_open_files_are_found)
{
	struct rlimit old, low;
	struct check_result r;
	struct machine *m = machine_new("test", "/", "lo");

	assert_non_null(m);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	probe(m, "files", &r);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(r.status, CHECK_FINDING);
	check_has(r.evidence, "256");
	machine_free(m);
}

TEST(every_check_has_a_name_of_its_own_and_a_remedy)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		if (check_find(check->id) != check)
			fail_msg("%s is there twice", check->id);
		check(check->id, "length of id fits its column", strlen(check->id) <= 12, 1);
		assert_true((unsigned)check->severity < CHECK_SEVERITIES);
		assert_int_equal(check->question[strlen(check->question) - 1], '?');
		assert_true(strlen(check->remedy) > 10 && check->probe);
	}
}

TEST(facts_of_any_machine_become_json)
{
	static const char *const machines[] = { "a3-high", "virtio-2cpu", "weird", "empty" };

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		struct machine *m;
		struct fixture f;
		json_t *json;

		fixture_init(&f);
		fixture_add_machine(&f, machines[i]);
		fixture_add(&f, "nic name=\xff\xfe addr=10.99.0.1/24");
		m = machine_new("test", f.root, "");
		assert_non_null(m);
		json = machine_json(m);
		if (!json)
			fail_msg("%s: no JSON", machines[i]);
		check(machines[i], "NICs", json_array_size(json_object_get(
			json_object_get(json, "nics"), "all")), m->facts->nic_count);
		check(machines[i], "GPUs", json_array_size(json_object_get(json, "gpus")),
		      m->facts->gpu_count);
		json_decref(json);
		machine_free(m);
		fixture_fini(&f);
	}
}

TEST(nearest_nic_is_the_one_on_the_switch)
{
	enum tcpx_distance distance;
	struct machine *m;
	struct fixture f;

	fixture_init(&f);
	fixture_add_machine(&f, "a3-high");
	m = machine_new("test", f.root, "");
	assert_non_null(m);
	check_text("GPU 5", machine_nearest(m, &m->facts->gpus[5], &distance)->name, "eth3");
	assert_int_equal(distance, TCPX_SAME_SWITCH);
	machine_free(m);
	fixture_fini(&f);
}

int
main(void)
{
	unsetenv("KUBERNETES_SERVICE_HOST");
	return run_cases(NULL, NULL);
}
