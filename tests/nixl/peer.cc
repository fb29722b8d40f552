/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

using namespace nixlabi;

static void
put(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), len);
}

static void
put_text(int fd, const std::string &text)
{
	size_t len = text.size();

	put(fd, &len, sizeof(len));
	put(fd, text.data(), len);
}

static void
get(int fd, void *data, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = read(fd, static_cast<char *>(data) + got, len - got);

		assert_true(n > 0);
		got += static_cast<size_t>(n);
	}
}

static std::string
get_text(int fd)
{
	size_t len;

	get(fd, &len, sizeof(len));
	assert_true(len < 65536);
	std::string text(len, '\0');
	get(fd, text.data(), len);
	return text;
}

int
PeerProcess::serve(const char *plugin, const char *name, size_t bytes)
{
	File file(plugin);
	Agent agent(file, name, {}, bytes);
	BlobDesc desc = agent.exported();
	char end;

	put_text(3, agent.info);
	put(3, &desc.addr, sizeof(desc.addr));
	put(3, &desc.len, sizeof(desc.len));
	put_text(3, desc.blob);
	return read(0, &end, 1) < 0;
}

PeerProcess::PeerProcess(const std::string &plugin, const std::string &name, size_t bytes)
{
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends no peer */
		dup2(in[0], 0);
		dup2(out[1], 3);
		for (int fd = 4; fd < 256; fd++)
			close(fd);
		execl("/proc/self/exe", "driver", plugin.c_str(), "peer", name.c_str(),
		      std::to_string(bytes).c_str(), nullptr);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
	info = get_text(from);
	get(from, &desc.addr, sizeof(desc.addr));
	get(from, &desc.len, sizeof(desc.len));
	desc.blob = get_text(from);
	desc.dev = 0;
}

void
PeerProcess::kill()
{
	if (pid > 0) {
		::kill(pid, SIGKILL);
		waitpid(pid, nullptr, 0);
	}
	pid = -1;
}

void
PeerProcess::signal(int number)
{
	int status;

	assert_int_equal(::kill(pid, number), 0);
	if (number == SIGSTOP) { /* one of its threads has to run for it; until then the others may answer */
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
	}
}

PeerProcess::~PeerProcess()
{
	kill();
	close(to);
	close(from);
}
