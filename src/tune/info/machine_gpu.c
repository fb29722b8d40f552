/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU driver, and the kernel's ways to avoid a copy. */
#include "tune/info/machine_gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool/out_text.h"
#include "tool/tool.h"

/* Why the driver could not be opened, for people. */
static void
say_why(const char *library, char *why, size_t cap)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	const char *error = handle ? NULL : dlerror();

	if (handle)
		snprintf(why, cap, "%s is there, but is no driver or finds no GPU", library);
	else
		snprintf(why, cap, "%s", error ? error : library);
	if (handle)
		dlclose(handle);
}

void
machine_driver_open(const struct machine *m, struct machine_driver *d)
{
	const char *library = m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_CUDA_LIBRARY) : "";

	*d = (struct machine_driver){ 0 };
	if (!m->here) {
		snprintf(d->why, sizeof(d->why), "%s is not this machine", m->root);
		return;
	}
	if (gpus_open(library, &d->gpus)) {
		say_why(*library ? library : TCPX_CUDA_LIBRARY, d->why, sizeof(d->why));
		return;
	}
	d->version = gpus_driver_version(d->gpus);
	for (unsigned i = 0; i < gpus_count(d->gpus); i++)
		d->count += !gpu_facts(d->gpus, (int)i, &d->gpu[d->count]);
}

void
machine_driver_close(struct machine_driver *d)
{
	gpus_close(d->gpus);
	*d = (struct machine_driver){ 0 };
}

json_t *
machine_driver_json(const struct machine_driver *d)
{
	json_t *gpus = json_array();

	for (unsigned i = 0; i < d->count; i++)
		json_array_append_new(gpus, json_pack(
			"{s:i, s:o, s:s, s:I}", "gpu", d->gpu[i].gpu, "name",
			out_json(d->gpu[i].name), "pci", d->gpu[i].pci, "memory_bytes",
			(json_int_t)d->gpu[i].memory_bytes));
	return json_pack("{s:o, s:o, s:o}", "version",
			 d->version ? json_integer(d->version) : json_null(), "missing",
			 d->gpus ? json_null() : out_json(d->why), "gpus", gpus);
}

static bool
takes_zerocopy(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

struct machine_lend
machine_lend_read(const struct machine *m)
{
	long long pages = machine_number(m, "/proc/sys/fs/pipe-user-pages-soft");

	return (struct machine_lend){
		.pipe_max = machine_number(m, "/proc/sys/fs/pipe-max-size"),
		.pipe_user_soft = pages > 0 ? pages * sysconf(_SC_PAGESIZE) : pages,
		.msg = m->here && takes_zerocopy() };
}
