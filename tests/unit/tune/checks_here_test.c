/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that ask the machine they run on: its GPU driver, its limits, its plugin, the bindings of its
 * environment. Its files are a fixture's; driver and plugin are those in software.
 */
#include "../fixture.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tool/gpu/gpu.h"
#include "tune/doctor/checks.h"

#define FILE_(path, text) "file path=" path " text=" text "\n"
#define NIC0 "cpus online=0-7\nnode id=0 cpus=0-7\n" \
	"nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=10.0.0.1/24\n"
/* a vector of it, which fires on a CPU */
#define VEC(cpu) FILE_("sys/bus/pci/devices/0000:00:01.0/msi_irqs/30", "msix") \
	FILE_("proc/irq/30/smp_affinity_list", cpu) \
	FILE_("proc/irq/30/effective_affinity_list", cpu) \
	FILE_("sys/kernel/irq/30/actions", "eth0-TxRx-0")
#define PIPES(pages) FILE_("proc/sys/fs/pipe-user-pages-soft", pages)
#define ARG_GPU "TCPX_CUDA_LIBRARY=cuda"
#define PLUGIN(which) "TCPX_PLUGIN_PATH=net_fake_" which

/* Answers of the machine that do not come from its files. */
static struct {
	unsigned uid;
	int driver;   /* its version; 0: the software driver's           */
	int refusing; /* a GPU that takes no kernels, less 1; 0: none    */
} here;

uid_t __wrap_geteuid(void);
int __wrap_gpus_driver_version(struct gpus *g);
int __real_gpus_driver_version(struct gpus *g);
int __wrap_gpu_loads(struct gpus *g, int gpu, const char *ptx);
int __real_gpu_loads(struct gpus *g, int gpu, const char *ptx);

uid_t
__wrap_geteuid(void)
{
	return here.uid;
}

int
__wrap_gpus_driver_version(struct gpus *g)
{
	return here.driver ? here.driver : __real_gpus_driver_version(g);
}

int
__wrap_gpu_loads(struct gpus *g, int gpu, const char *ptx)
{
	return here.refusing == gpu + 1 ? -EIO : __real_gpu_loads(g, gpu, ptx);
}

static const struct {
	const char *id, *machine, *setting; /* "cuda" and "net_fake_" become their files */
	unsigned uid;
	int driver, refusing;
	unsigned long lock; /* RLIMIT_MEMLOCK                                     */
	enum check_status status;
	const char *evidence;
} rows[] = {
	{ "gpu-driver", "", "", 0, 0, 0, 0, CHECK_SKIPPED, "no GPU on the PCI bus" },
	{ "gpu-driver", "", ARG_GPU, 0, 0, 0, 0, CHECK_OK, "of CUDA 12.4, 2 GPUs" },
	{ "gpu-driver", "", ARG_GPU, 0, 11040, 0, 0, CHECK_OK, "of CUDA 11.4" },
	{ "gpu-driver", "", ARG_GPU, 0, 11030, 0, 0, CHECK_FINDING, "of CUDA 11.3, older than 11.4" },
	{ "gpu-driver", "", "TCPX_CUDA_LIBRARY=/no/such.so", 0, 0, 0, 0, CHECK_FINDING,
	  "none: /no/such.so" },
	{ "gpu-kernels", "", "", 0, 0, 0, 0, CHECK_SKIPPED, "no GPU on the PCI bus" },
	{ "gpu-kernels", "", ARG_GPU, 0, 0, 0, 0, CHECK_OK, "2 GPUs do" },
	{ "gpu-kernels", "", ARG_GPU, 0, 0, 2, 0, CHECK_FINDING, "GPU 1 does not take the library's" },
	{ "gpu-kernels", "", "TCPX_CUDA_LIBRARY=/no/such.so", 0, 0, 0, 0, CHECK_SKIPPED, "no driver" },
	{ "memlock", "", "", 1000, 0, 0, 65536, CHECK_SKIPPED, "no GPU on the PCI bus" },
	{ "memlock", "", ARG_GPU, 1000, 0, 0, 65536, CHECK_FINDING, "65536 bytes" },
	{ "memlock", "", ARG_GPU, 0, 0, 0, 65536, CHECK_OK, "not binding for root" },
	{ "pipes", PIPES("16384"), "", 1000, 0, 0, 0, CHECK_SKIPPED, "no GPU on the PCI bus" },
	{ "pipes", PIPES("65536"), ARG_GPU, 1000, 0, 0, 0, CHECK_OK, "bytes" },
	{ "pipes", PIPES("64"), ARG_GPU, 1000, 0, 0, 0, CHECK_FINDING, "bytes" },
	{ "pipes", PIPES("64"), ARG_GPU, 0, 0, 0, 0, CHECK_OK, "not binding for root" },
	{ "pipes", PIPES("0"), ARG_GPU, 1000, 0, 0, 0, CHECK_OK, "no limit" },
	{ "pipes", "", ARG_GPU, 1000, 0, 0, 0, CHECK_UNKNOWN, "pipe-user-pages-soft" },
	{ "irq-pools", NIC0 VEC("2"), "", 0, 0, 0, 0, CHECK_SKIPPED, "no bindings are set" },
	{ "irq-pools", NIC0 VEC("2"), "TCPX_TX_BINDINGS=eth0:2-3", 0, 0, 0, 0, CHECK_FINDING, "eth0: 1" },
	{ "irq-pools", NIC0 VEC("2"), "TCPX_RX_BINDINGS=eth0:2-3", 0, 0, 0, 0, CHECK_FINDING, "eth0: 1" },
	{ "irq-pools", NIC0 VEC("5"), "TCPX_TX_BINDINGS=eth0:2-3", 0, 0, 0, 0, CHECK_OK, "none of 1" },
	{ "irq-pools", NIC0, "TCPX_TX_BINDINGS=eth0:2-3", 0, 0, 0, 0, CHECK_UNKNOWN, "" },
	{ "plugin", "", "", 0, 0, 0, 0, CHECK_SKIPPED, "none is named" },
	{ "plugin", "", PLUGIN("v9"), 0, 0, 0, 0, CHECK_OK, "Fake_v9, interface v9" },
	{ "plugin", "", PLUGIN("none"), 0, 0, 0, 0, CHECK_FINDING, "net_fake_none" },
	{ "plugin", "", "TCPX_PLUGIN_PATH=/no/such.so", 0, 0, 0, 0, CHECK_FINDING, "/no/such.so" },
};

/* A setting of a row into the environment; its name into @name. */
static void
set(const char *setting, char name[64])
{
	const char *value = strchr(setting, '='), *dir = getenv("NET_FAKE_DIR");
	char path[512];

	name[0] = '\0';
	if (!value)
		return;
	snprintf(name, 64, "%.*s", (int)(value++ - setting), setting);
	assert_true(dir && getenv("FAKECUDA_LIBRARY"));
	snprintf(path, sizeof(path), "%s/lib%s.so", dir, value);
	setenv(name, !strcmp(value, "cuda") ? getenv("FAKECUDA_LIBRARY") :
		     !strncmp(value, "net_fake_", 9) ? path : value, 1);
}

static void
probe_row(size_t i, struct check_result *r)
{
	const struct check *one = check_find(rows[i].id);
	struct rlimit old, low;
	struct machine *m;
	struct fixture f;
	char name[64];

	assert_non_null(one);
	fixture_init(&f);
	fixture_add(&f, rows[i].machine);
	set(rows[i].setting, name);
	m = machine_new("test", f.root, "");
	assert_non_null(m);
	m->here = true;
	here.uid = rows[i].uid;
	here.driver = rows[i].driver;
	here.refusing = rows[i].refusing;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	low = old;
	low.rlim_cur = rows[i].lock;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, rows[i].lock ? &low : &old), 0);
	*r = (struct check_result){ .status = CHECK_OK };
	one->probe(m, r);
	setrlimit(RLIMIT_MEMLOCK, &old);
	if (name[0])
		unsetenv(name);
	machine_free(m);
	fixture_fini(&f);
}

TEST(each_check_of_this_machine_tells_well_ill_and_unknown)
{
	unsigned wrong = 0;

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		probe_row(i, &r);
		if (r.status == rows[i].status && strstr(r.evidence, rows[i].evidence))
			continue;
		print_error("row %zu, %s: %s \"%s\", want %s \"%s\"\n", i, rows[i].id,
			    check_status_name(r.status), r.evidence,
			    check_status_name(rows[i].status), rows[i].evidence);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int
main(void)
{
	unsetenv("NCCL_NET_PLUGIN");
	return run_cases(NULL, NULL);
}
