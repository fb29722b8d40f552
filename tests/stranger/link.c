/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include "plugin.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

int
link_listen(struct link *link, char handle[HANDLE_BYTES])
{
	return plugin_said("listen", link->net->listen(link->dev, handle, &link->listen));
}

/* Asks once: 1 stands, 0 not yet, -1 failed. After 1 it must not be asked again. */
static int
link_connect(struct link *link)
{
	struct device_handle unused = { 0 }, *device = &unused;

	if (plugin_said("connect",
			link->net->connect(link->dev, link->theirs, &link->send, &device)) < 0)
		return -1;
	return link->send ? 1 : 0;
}

static int
link_accept(struct link *link)
{
	struct device_handle *device = &link->device;
	const struct unpack_handle *unpack;

	if (plugin_said("accept", link->net->accept(link->listen, &link->recv, &device)) < 0)
		return -1;
	if (!link->recv)
		return 0;
	if (link->device.type != DEVICE_UNPACK || link->device.version != UNPACK_VERSION ||
	    link->device.size != sizeof *unpack) {
		fprintf(stderr, "device handle: type %d, version %d, %zu bytes\n",
			link->device.type, link->device.version, link->device.size);
		return -1;
	}
	unpack = link->device.handle;
	link->meta = unpack->meta;
	link->bounce = unpack->bounce;
	return 1;
}

/* One round over all; how many ends are still missing, or -1. */
static int
ask_all(struct link *links, unsigned count, unsigned long senders)
{
	int missing = 0;

	for (unsigned i = 0; i < count; i++) {
		struct link *link = &links[i];
		int stands;

		if ((senders >> i & 1) && !link->send) {
			stands = link_connect(link);
			if (stands < 0)
				return -1;
			missing += !stands;
		}
		if (link->listen && !link->recv) {
			stands = link_accept(link);
			if (stands < 0)
				return -1;
			missing += !stands;
		}
	}
	return missing;
}

int
link_stand(struct link *links, unsigned count, unsigned long senders)
{
	for (;;) {
		int missing = ask_all(links, count, senders);

		if (missing <= 0)
			return missing;
		sched_yield();
	}
}

int
link_close(struct link *link)
{
	int failed = 0;

	if (link->send)
		failed |= plugin_said("closeSend", link->net->close_send(link->send));
	if (link->recv)
		failed |= plugin_said("closeRecv", link->net->close_recv(link->recv));
	if (link->listen)
		failed |= plugin_said("closeListen", link->net->close_listen(link->listen));
	return failed;
}
