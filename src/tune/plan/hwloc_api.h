/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The used part of libhwloc's interface, version 2, looked up at run time. Nothing of it is
 * needed to build; without it only the import of its texts is missing.
 */
#ifndef TOOL_HWLOC_API_H
#define TOOL_HWLOC_API_H

#include <stdint.h>

#define HWLOC_LIBRARY "libhwloc.so.15" /* of all of version 2 */
#define HWLOC_PACKAGE "libhwloc15"     /* of Debian and Ubuntu */

struct hwloc_topology;
struct hwloc_bitmap;

/* Types of objects. */
enum { HWLOC_CORE = 2, HWLOC_PU = 3, HWLOC_L3 = 6, HWLOC_BRIDGE = 14, HWLOC_PCI = 15 };
/* Depths of objects that are on no level of the machine's tree. */
enum { HWLOC_DEPTH_NODE = -3, HWLOC_DEPTH_PCI = -5, HWLOC_DEPTH_OS = -6 };
/* Kinds of OS devices; ends of a bridge. */
enum { HWLOC_OS_NETWORK = 2, HWLOC_END_HOST = 0, HWLOC_END_PCI = 1 };

#define HWLOC_FLAG_DISALLOWED (1ul << 0) /* also CPUs that are not allowed     */
#define HWLOC_KEEP_IMPORTANT  3          /* filter of I/O: NICs, GPUs, bridges */
#define HWLOC_LATENCIES	      (1ul << 2) /* kind of distances                  */

/* As in the library's own header. */
struct hwloc_pci {
	unsigned short domain;
	unsigned char bus, dev, func;
	unsigned short class_id, vendor_id, device_id, subvendor_id, subdevice_id;
	unsigned char revision;
	float linkspeed;
};

union hwloc_attr {
	struct hwloc_pci pci;
	struct {
		struct hwloc_pci up;
		int up_end; /* HWLOC_END_... */
		unsigned short domain;
		unsigned char bus, last_bus;
		int down_end;
		unsigned depth;
	} bridge;
	int os; /* HWLOC_OS_... */
};

struct hwloc_object {
	int type;
	char *subtype;
	unsigned os_index; /* the kernel's number; ~0 none */
	char *name;
	uint64_t total_memory;
	union hwloc_attr *attr;
	int depth;
	unsigned logical_index;
	struct hwloc_object *next_cousin, *prev_cousin, *parent;
	unsigned sibling_rank;
	struct hwloc_object *next_sibling, *prev_sibling;
	unsigned arity;
	struct hwloc_object **children, *first_child, *last_child;
	int symmetric_subtree;
	unsigned memory_arity;
	struct hwloc_object *memory_first_child;
	unsigned io_arity;
	struct hwloc_object *io_first_child;
	unsigned misc_arity;
	struct hwloc_object *misc_first_child;
	struct hwloc_bitmap *cpuset, *complete_cpuset; /* NULL for I/O */
	struct hwloc_bitmap *nodeset, *complete_nodeset;
};

struct hwloc_distances {
	unsigned count;
	struct hwloc_object **object;
	unsigned long kind;
	uint64_t *value; /* a matrix of all nodes */
};

/* X(name, result, parameters): the symbol is hwloc_NAME. */
#define HWLOC_SYMBOLS(X)                                                                      \
	X(get_api_version, unsigned, (void))                                                  \
	X(topology_init, int, (struct hwloc_topology **t))                                    \
	X(topology_destroy, void, (struct hwloc_topology *t))                                 \
	X(topology_set_xml, int, (struct hwloc_topology *t, const char *path))                \
	X(topology_set_synthetic, int, (struct hwloc_topology *t, const char *text))          \
	X(topology_set_flags, int, (struct hwloc_topology *t, unsigned long flags))           \
	X(topology_set_io_types_filter, int, (struct hwloc_topology *t, int filter))          \
	X(topology_load, int, (struct hwloc_topology *t))                                     \
	X(topology_get_allowed_cpuset, const struct hwloc_bitmap *,                           \
	  (struct hwloc_topology *t))                                                         \
	X(get_type_depth, int, (struct hwloc_topology *t, int type))                          \
	X(get_nbobjs_by_depth, unsigned, (struct hwloc_topology *t, int depth))               \
	X(get_obj_by_depth, struct hwloc_object *,                                            \
	  (struct hwloc_topology *t, int depth, unsigned index))                              \
	X(distances_get_by_depth, int,                                                        \
	  (struct hwloc_topology *t, int depth, unsigned *count,                              \
	   struct hwloc_distances **out, unsigned long kind, unsigned long flags))            \
	X(distances_release, void, (struct hwloc_topology *t, struct hwloc_distances *d))     \
	X(bitmap_next, int, (const struct hwloc_bitmap *set, int before))                     \
	X(bitmap_isset, int, (const struct hwloc_bitmap *set, unsigned at))

struct hwloc_api {
	void *library; /* of dlopen() */
#define MEMBER(name, result, params) result(*name) params;
	HWLOC_SYMBOLS(MEMBER)
#undef MEMBER
};

/* TOOL_OK, or TOOL_DENIED with a message of @command: no such library, or an
 * unknown version. */
int hwloc_api_load(const char *command, struct hwloc_api *api);
void hwloc_api_unload(struct hwloc_api *api);

#endif
