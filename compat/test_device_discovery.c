/* SPDX-License-Identifier: Apache-2.0 */
/* What `tcpx info` finds: the NICs in use as devices with a number, and the GPUs. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "child.h"

static const char *
text_of(const json_t *from, const char *name)
{
	const char *text = json_string_value(json_object_get(from, name));

	return text ? text : "";
}

/* The interface that a NIC in use is. */
static const json_t *
interface_of(const json_t *nics, const json_t *used)
{
	const json_t *all = json_object_get(nics, "all");
	size_t i = 0;

	while (i < json_array_size(all) && strcmp(text_of(json_array_get(all, i), "name"),
						  text_of(used, "interface")))
		i++;
	return json_array_get(all, i);
}

static size_t
print_nics(const json_t *nics)
{
	const json_t *used = json_object_get(nics, "used"), *nic;
	size_t i;

	printf("[TCPX] Found %zu TCPX devices\n", json_array_size(used));
	json_array_foreach(used, i, nic) {
		const json_t *card = interface_of(nics, nic), *node = json_object_get(card, "node");

		printf("[TCPX] Device %zu: name=%s addr=%s speed=%d pci=%s numa=%d\n", i,
		       text_of(nic, "name"), text_of(nic, "address"),
		       (int)json_integer_value(json_object_get(card, "speed_mbps")),
		       *text_of(card, "pci_path") ? text_of(card, "pci_path") : "none",
		       json_is_integer(node) ? (int)json_integer_value(node) : -1);
	}
	return json_array_size(used);
}

static void
print_gpus(const json_t *gpus)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu)
		printf("[TCPX] GPU %d: pci=%s\n",
		       (int)json_integer_value(json_object_get(gpu, "gpu")), text_of(gpu, "pci"));
	if (!json_array_size(gpus))
		printf("[TCPX] no GPU driver here, or no GPU\n");
}

/* What `tcpx info` says; messages for people that stand around it are printed. */
static json_t *
ask(const char *tool, int *code)
{
	char *argv[] = { (char *)tool, (char *)"info", (char *)"--json", (char *)"-", NULL };
	static char text[1 << 20];
	size_t len = 0;
	json_t *info;
	int fd;
	pid_t pid = child_start(argv, &fd);
	FILE *f = pid > 0 ? fdopen(fd, "r") : NULL;

	if (f) {
		len = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		*code = child_end(pid);
	}
	info = strchr(text, '{') ? json_loads(strstr(text, "{\n"), JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	if (!info)
		printf("%.*s", (int)len, text);
	return info;
}

int
main(int argc, char **argv)
{
	bool help = argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
	char path[PATH_MAX];
	json_t *info;
	int code = 1;

	if (argc > 1) {
		fprintf(help ? stdout : stderr, "usage: %s\n\nShows the NICs and GPUs that tcpx"
			" info finds.\n", argv[0]);
		return help ? 0 : 2;
	}
	info = ask(find_tool(path), &code);
	if (info && print_nics(json_object_get(info, "nics")) && !code)
		print_gpus(json_object_get(json_object_get(info, "driver"), "gpus"));
	else
		code = code ? code : 1;
	printf("[TCPX] %s\n", code ? "FAILED: there is no device" : "PASSED");
	json_decref(info);
	return code;
}
