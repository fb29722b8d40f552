/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for GPU memory. Without a GPU on the bus they are skipped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/launch.h"
#include "tune/doctor/checks.h"
#include "tune/info/machine_gpu.h"
#include "tool/tool.h"

#define MEMLOCK_MIN (64ull << 20) /* pinned buffers of one process                  */
#define DRIVER_MIN 11040          /* CUDA 11.4: the first that reads PTX 7.4        */
#define PIPES_BYTES (32ll << 20)  /* of an engine that sends by splice              */

/* A GPU on the bus, or a named driver. */
static bool
has_gpu(const struct machine *m, struct check_result *r)
{
	bool named = m->cfg && *tcpx_cfg_str(m->cfg, TCPX_SET_CUDA_LIBRARY);

	if (!check_here(m, r))
		return false;
	if (m->facts->gpu_count || named)
		return true;
	check_skip(r, "no GPU on the PCI bus");
	return false;
}

static void
probe_driver(const struct machine *m, struct check_result *r)
{
	struct machine_driver d;

	if (!has_gpu(m, r))
		return;
	machine_driver_open(m, &d);
	if (!d.gpus)
		check_finding(r, "none: %s", d.why);
	else if (d.version < DRIVER_MIN)
		check_finding(r, "of CUDA %d.%d, older than 11.4", d.version / 1000,
			      d.version % 1000 / 10);
	else
		check_ok(r, "of CUDA %d.%d, %u GPU%s", d.version / 1000, d.version % 1000 / 10, d.count,
			 d.count == 1 ? "" : "s");
	machine_driver_close(&d);
}

static void
probe_kernels(const struct machine *m, struct check_result *r)
{
	struct machine_driver d;

	if (!has_gpu(m, r))
		return;
	machine_driver_open(m, &d);
	if (!d.gpus)
		check_skip(r, "no driver");
	for (unsigned i = 0; i < d.count; i++) {
		struct place place = { 1, { d.gpu[i].gpu } };

		if (gpus_ready(d.gpus, &place))
			check_add(r, "GPU %u does not take the tool's", i);
		else if (gpu_loads(d.gpus, (int)i, tcpx_unpack_ptx))
			check_add(r, "GPU %u does not take the library's", i);
	}
	if (d.gpus)
		check_judge(r, "%u GPU%s", d.count, d.count == 1 ? " does" : "s do");
	machine_driver_close(&d);
}

static void
probe_memlock(const struct machine *m, struct check_result *r)
{
	struct rlimit limit;

	if (!has_gpu(m, r))
		return;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		check_unknown(r, "getrlimit: %s", strerror(errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		check_ok(r, "no limit");
	else if (limit.rlim_cur < MEMLOCK_MIN && geteuid() != 0)
		check_finding(r, "%llu bytes", (unsigned long long)limit.rlim_cur);
	else
		check_ok(r, "%llu bytes%s", (unsigned long long)limit.rlim_cur,
			 geteuid() ? "" : ", not binding for root");
}

/* Pages in pipes count for the user, over all processes; beyond the limit new pipes are
 * too small for use. */
static void
probe_pipes(const struct machine *m, struct check_result *r)
{
	struct machine_lend lend;
	bool root = geteuid() == 0;

	if (!has_gpu(m, r))
		return;
	lend = machine_lend_read(m);
	if (lend.pipe_user_soft < 0)
		check_unknown(r, "/proc/sys/fs/pipe-user-pages-soft cannot be read");
	else if (lend.pipe_user_soft && lend.pipe_user_soft < PIPES_BYTES && !root)
		check_finding(r, "%lld bytes", lend.pipe_user_soft);
	else if (!lend.pipe_user_soft)
		check_ok(r, "no limit");
	else
		check_ok(r, "%lld bytes%s", lend.pipe_user_soft, root ? ", not binding for root" : "");
}

const struct check checks_gpu[] = {
	{ "gpu-driver", CHECK_ERROR, "Is there a GPU driver that is new enough?", probe_driver,
	  "Install the driver (libcuda.so.1) of CUDA 11.4 or newer, in a container let it in "
	  "(--gpus all); TCPX_CUDA_LIBRARY names another file." },
	{ "gpu-kernels", CHECK_ERROR, "Do the GPUs take our kernels?", probe_kernels,
	  "They need compute capability 8.0; TCPX_UNPACK_IMPL=d2d or host does without them." },
	{ "memlock", CHECK_WARNING, "May 64 MiB be locked in memory?", probe_memlock,
	  "ulimit -l unlimited, or LimitMEMLOCK=infinity: GPU staging needs pinned buffers." },
	{ "pipes", CHECK_WARNING, "May pipes hold the 32 MiB that zero-copy sending takes?", probe_pipes,
	  "sysctl fs.pipe-user-pages-soft=65536; else payload of GPUs is copied once more." },
};

const size_t checks_gpu_count = ARRAY_LEN(checks_gpu);
