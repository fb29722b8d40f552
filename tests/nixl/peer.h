/* SPDX-License-Identifier: Apache-2.0 */
/* An agent in a process of its own, which can be killed. */
#ifndef TESTS_NIXL_PEER_H
#define TESTS_NIXL_PEER_H

#include <sys/types.h>

#include <string>

#include "agent.h"

struct PeerProcess {
	PeerProcess(const std::string &plugin, const std::string &name, size_t bytes = MEMORY_BYTES);
	~PeerProcess();
	void kill();
	void signal(int number);
	/* What the process does, until its standard input ends. */
	static int serve(const char *plugin, const char *name, size_t bytes);

	std::string info;
	nixlabi::BlobDesc desc;

private:
	pid_t pid;
	int to, from;
};

#endif
