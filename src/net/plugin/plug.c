/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding, loading and initialising a plugin, once for each library and process. The library
 * stays loaded: a plugin may start threads of its own. Most can be initialised only once, so a
 * failure is final, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/plugin/comm.h"
#include "net/plugin/file.h"
#include "net/plugin/find.h"
#include "net/plugin/init.h"
#include "net/plugin/inside.h"
#include "net/plugin/result.h"

#define DEVICES_MAX 1024 /* a larger number means a wrong table */
#define WHY_BYTES   400
#define MARK        "tcpx_nccl_plugin" /* of our own, src/nccl/mark.c */
#define INIT_NS     (30 * TCPX_SEC)

static const struct plug_abi *const abis[] = {
	&plug_abi_v12, &plug_abi_v11, &plug_abi_v10, &plug_abi_v9, &plug_abi_v8, &plug_abi_v7,
	&plug_abi_v6, NULL,
};

/* The plugins of the process; see scripts/layers.txt. */
static struct {
	pthread_mutex_t lock;
	struct plug *first;
} loaded = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int because(char why[WHY_BYTES], int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
because(char why[WHY_BYTES], int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, WHY_BYTES, fmt, ap);
	va_end(ap);
	return code;
}

/* init() fills in some tables, so only init() itself is required before it. */
static int
check_table(const struct plug_abi *abi, const void *table, size_t count, char why[WHY_BYTES])
{
	for (size_t i = 0; i < count; i++) {
		const struct plug_need *need = &abi->need[i];
		Dl_info info;
		void *at;

		memcpy(&at, (const char *)table + need->offset, sizeof(at));
		if (!at && need->required)
			return because(why, -ELIBBAD, "its %s has no %s()", abi->symbol,
				       need->name);
		if (at && !dladdr(at, &info))
			return because(why, -ELIBBAD, "%s() of its %s is no function",
				       need->name, abi->symbol);
	}
	return 0;
}

static int
find_table(void *library, struct plug *p, char why[WHY_BYTES])
{
	for (const struct plug_abi *const *abi = abis; *abi; abi++) {
		p->table = dlsym(library, (*abi)->symbol);
		if (!p->table)
			continue;
		p->abi = *abi;
		return check_table(p->abi, p->table, 1, why);
	}
	return because(why, -ELIBBAD, "it exports none of ncclNetPlugin_v6 to _v12");
}

static void
last_part(char *out, size_t cap, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(out, cap, "%s", slash ? slash + 1 : path ? path : "");
}

static int
read_device(struct plug *p, int dev, char why[WHY_BYTES])
{
	struct plug_device *d = &p->device[dev];
	struct plug_facts facts;
	enum nccl_result result = p->abi->properties(p->table, dev, &facts);

	if (result != NCCL_OK)
		return because(why, -ELIBBAD, "properties of its device %d: %s (%d)", dev,
			       plug_result_text(result), (int)result);
	d->props.unpack = facts.device_type == NCCL_DEVICE_UNPACK;
	if (facts.device_type != NCCL_DEVICE_HOST &&
	    (!d->props.unpack || facts.device_version != NCCL_UNPACK_VERSION))
		return because(why, -ELIBBAD, "its device %d is of type %d version %d; 0 and 1 "
			       "version %d are known", dev, (int)facts.device_type,
			       facts.device_version, NCCL_UNPACK_VERSION);
	if (d->props.unpack && !p->abi->consumes(p->table))
		return because(why, -ELIBBAD, "its device %d unpacks, but it has no "
			       "irecvConsumed()", dev);
	snprintf(d->props.name, sizeof(d->props.name), "%s", facts.name ? facts.name : "");
	last_part(d->props.pci, sizeof(d->props.pci), facts.pci_path);
	d->props.speed_mbps = facts.speed > 0 ? (uint32_t)facts.speed : 0;
	d->props.gpu = facts.ptr_support & NCCL_PTR_CUDA;
	d->props.host = facts.ptr_support & NCCL_PTR_HOST;
	d->props.recvs_max = facts.max_recvs > 0 ? (uint32_t)facts.max_recvs : 1;
	d->props.requests_max = p->abi->requests;
	/* test() returns sizes as int in every version */
	d->props.size_max = facts.size_max && facts.size_max < INT32_MAX ? (uint32_t)facts.size_max :
			    INT32_MAX;
	return 0;
}

static int
read_devices(struct plug *p, char why[WHY_BYTES])
{
	enum nccl_result result;
	int count = 0, rc = 0;

	result = p->abi->devices(p->table, &count);
	if (result != NCCL_OK)
		return because(why, -ELIBBAD, "counting its devices: %s (%d)",
			       plug_result_text(result), (int)result);
	if (count <= 0)
		return because(why, -ENODEV, "it has no device");
	if (count > DEVICES_MAX)
		return because(why, -ELIBBAD, "it says that it has %d devices", count);
	free(p->device);
	p->device = calloc((size_t)count, sizeof(*p->device));
	if (!p->device)
		return because(why, -ENOMEM, "no memory for %d devices", count);
	for (int dev = 0; dev < count && rc == 0; dev++)
		rc = read_device(p, dev, why);
	p->device_count = rc ? 0 : count;
	return rc;
}

/* Called once: a failure is final. */
static int
start(struct plug *p, char why[WHY_BYTES])
{
	enum nccl_result result;
	char words[PLUG_WORDS] = "";
	int rc = plug_init(p, INIT_NS, &result, words);

	if (rc)
		return because(why, rc, rc == -ETIMEDOUT ? "its init() has not returned for %llu s" :
			       "no thread for its init() of %llu s", INIT_NS / TCPX_SEC);
	if (result != NCCL_OK)
		return because(why, -ELIBBAD, "its init() says %s (%d)%s%s", plug_result_text(result),
			       (int)result, words[0] ? ", and before that: " : "", words);
	rc = check_table(p->abi, p->table, p->abi->need_count, why);
	return rc ? rc : read_devices(p, why);
}

static int
check_chunk(const struct plug *p, char why[WHY_BYTES])
{
	const char *text = secure_getenv("NCCL_DYNAMIC_CHUNK_SIZE");

	if (!plug_is_tcpx(p->abi->name(p->table), p->path) || plug_chunk_is_set(text))
		return 0;
	return because(why, -EINVAL, "NCCL_DYNAMIC_CHUNK_SIZE is \"%s\"; this plugin hangs without "
		       "one, 524288 is usual", text ? text : "");
}

static void
drop(struct plug *p)
{
	dlclose(p->library);
	pthread_mutex_destroy(&p->lock);
	free(p->path);
	free(p);
}

/* Makes a plug for a library that was loaded for the first time. */
static int
adopt(void *library, const char *name, struct plug **out, char why[WHY_BYTES])
{
	struct plug *p = calloc(1, sizeof(*p));
	struct link_map *map = NULL;
	int rc;

	if (!p) {
		dlclose(library);
		return because(why, -ENOMEM, "no memory");
	}
	pthread_mutex_init(&p->lock, NULL);
	p->library = library;
	dlinfo(library, RTLD_DI_LINKMAP, &map);
	p->path = strdup(map && map->l_name && *map->l_name ? map->l_name : name);
	rc = p->path ? 0 : because(why, -ENOMEM, "no memory");
	if (rc == 0 && dlsym(library, MARK))
		rc = because(why, -ENODEV, "it is this library itself, as a plugin for NCCL");
	if (rc == 0)
		rc = find_table(library, p, why);
	if (rc == 0)
		rc = check_chunk(p, why);
	if (rc) {
		drop(p);
		return rc;
	}
	p->next = loaded.first;
	loaded.first = p;
	*out = p;
	return 0;
}

static struct plug *
known(void *library)
{
	struct plug *p = loaded.first;

	while (p && p->library != library)
		p = p->next;
	return p;
}

static int
load(const char *name, struct plug **out, char why[WHY_BYTES])
{
	int rc = plug_file_check(name, why, WHY_BYTES);
	const char *text;
	void *library;

	if (rc)
		return rc;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	text = library ? NULL : dlerror();
	if (!library && text && strstr(text, name) && strstr(text, "No such file"))
		return because(why, -ENOENT, "no such library");
	if (!library)
		return because(why, -ELIBBAD, "%s", text ? text : "it cannot be loaded");
	*out = known(library);
	if (!*out)
		return adopt(library, name, out, why);
	dlclose(library); /* the first handle stays */
	return 0;
}

static int
open_one(const char *name, struct plug **out, char why[WHY_BYTES])
{
	struct plug *p;
	int rc = load(name, &p, why);

	if (rc)
		return rc;
	if (p->failed)
		return because(why, p->failed, "%s", p->why);
	if (!p->ready) {
		p->failed = start(p, why);
		if (p->failed) {
			snprintf(p->why, sizeof(p->why), "%.*s", (int)sizeof(p->why) - 1, why);
			return p->failed;
		}
		p->ready = true;
		tcpx_info(TCPX_SUB_NET, "plugin %s (v%d) of %s: %d devices", plug_name(p),
			  p->abi->version, p->path, p->device_count);
	}
	p->users++;
	*out = p;
	return 0;
}

/* The more telling code of two: a bad library counts more than a missing one, and than our own,
 * which is for NCCL. */
static int
worse(int one, int other)
{
	return one == 0 || one == -ENOENT || one == -ENODEV ? other : one;
}

static int
open_any(const struct plug_names *names, struct plug **out)
{
	char why[WHY_BYTES], all[WHY_BYTES] = "no name is given";
	size_t at = 0;
	int rc = 0;

	for (int i = 0; i < names->count; i++) {
		int one = open_one(names->name[i], out, why);

		if (one == 0)
			return 0;
		rc = worse(rc, one);
		if (at < sizeof(all))
			at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s: %s",
					       at ? "; " : "", names->name[i], why);
		if (one == -EINVAL)
			break; /* the right plugin with a wrong setting: no other will do */
	}
	return tcpx_fail(TCPX_SUB_NET, rc ? rc : -ENOENT, "no NCCL net plugin by %s: %s",
			 names->source, all);
}

int
plug_open(const char *path, struct plug **plug)
{
	struct plug_names *names = malloc(sizeof(*names));
	const char *ours = secure_getenv("TCPX_PLUGIN_PATH"); /* not of who starts a setuid program */
	struct plug *p;
	int rc;

	if (!names)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "no memory for names of plugins");
	if (!ours || !*ours)
		ours = secure_getenv("UCCL_TCPX_PLUGIN_PATH");
	rc = plug_names_init(names, path, ours, secure_getenv("NCCL_NET_PLUGIN"));
	if (rc) {
		rc = tcpx_fail(TCPX_SUB_NET, rc, "no NCCL net plugin: %s is \"none\"",
			       names->source);
	} else {
		pthread_mutex_lock(&loaded.lock);
		rc = open_any(names, &p);
		pthread_mutex_unlock(&loaded.lock);
	}
	free(names);
	if (rc == 0)
		*plug = p;
	return rc;
}

/* The last user of a plugin of v11 or later ends its context; the next one makes a new one. */
void
plug_close(struct plug *p)
{
	if (!p)
		return;
	plug_lost_poll(p);
	pthread_mutex_lock(&loaded.lock);
	if (--p->users == 0 && p->abi->finalize && !p->lost_comms && !p->lost_listens) {
		p->abi->finalize(p->table, p->ctx);
		p->ctx = NULL;
		p->ready = false;
	}
	pthread_mutex_unlock(&loaded.lock);
}

const char *
plug_name(const struct plug *p)
{
	return plug_own_name(p);
}

const char *
plug_path(const struct plug *p)
{
	return p->path;
}

int
plug_abi(const struct plug *p)
{
	return p->abi->version;
}

int
plug_devices(const struct plug *p)
{
	return p->device_count;
}

int
plug_properties(struct plug *p, int dev, struct plug_props *out)
{
	if (dev < 0 || dev >= p->device_count)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: device %d of %d", plug_name(p), dev,
				 p->device_count);
	*out = p->device[dev].props;
	return 0;
}
