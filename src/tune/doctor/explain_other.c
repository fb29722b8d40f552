/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of programs that name no code, and refusals of the system by the names of its
 * errors. The last entry is for every other such name.
 */
#include "tune/doctor/explain.h"
#include "tool/tool.h"

const struct explained explain_others[] = {
	{
		.name = "cannot-start", .title = "a command ends before anything is measured",
		.says = { "cannot start", "did not start", "a setting is refused",
			  "too many settings", "cannot read the blob" },
		.symptom = "No session is opened; the cause stands behind the words, or in the line "
			"before.\n",
		.cause = "A setting is not allowed, a NIC or the plugin is not there, or a port is "
			"taken.\n",
		.check = "Settings, NICs and the plugin:\n"
			"    tcpx info --config\n"
			"    tcpx doctor\n",
		.fix = "Correct what the line names.\n",
	},
	{
		.name = "server-refused", .title = "the server does not do what the client asks",
		.says = { "the server: ", "from the server", "no session with" },
		.symptom = "The client ends with exit code 1; the server waits for the next one.\n",
		.cause = "The two sides are of different versions or kinds, the server is busy, or it "
			"cannot do what is asked: the words behind say which.\n",
		.check = "Versions of both, and the server's log:\n"
			"    tcpx --version\n",
		.fix = "Start both sides alike; wait for the client that is being measured.\n",
	},
	{
		.name = "message-failed", .title = "a message of an iteration failed",
		.says = { "at iteration", "a transfer of", "no open channel" },
		.symptom = "A measurement ends with this line, the next one has text and code of the "
			"cause, exit code 1.\n",
		.cause = "The code says which: the peer has gone, no channel is left, a plugin refused "
			"a call. A peer that failed first often leaves only \"has gone\" here.\n",
		.check = "The other side's log first, then the code of the next line:\n"
			"    tcpx doctor --explain TCPX_EPEERGONE\n",
		.fix = "As the section of that code says.\n",
	},
	{
		.name = "nothing-to-measure", .title = "there is no plugin, or no GPU",
		.says = { "no plugin can be used", "cannot be used", "no NCCL net plugin" },
		.symptom = "A program that measures the plugin or a GPU's memory ends with exit code 3 "
			"before the first byte, and the line says what was looked for.\n",
		.cause = "No plugin lies in the usual places or where a variable says, it cannot be "
			"loaded here, or the GPU has another number.\n",
		.check = "What is there, and why not:\n"
			"    tcpx info\n"
			"    tcpx doctor\n",
		.fix = "Name the plugin (TCPX_PLUGIN_PATH), install the driver, correct the number. "
			"--any measures plain sockets or host memory instead, and says so.\n",
	},
	{
		.name = "nixl-plugin", .title = "NIXL does not find or load the plugin",
		.says = { "nixl-file", "nixl-load", "Plugin file does not exist", "libplugin_TCPX.so",
			  "nixl_plugin_init" },
		.symptom = "NIXL has no backend TCPX, and createBackend() fails. Of a file that the "
			"loader refuses NIXL says nothing below its log level INFO.\n",
		.cause = "The file is not in the folder where this NIXL looks: plugins/ beside its "
			"library, or the one of NIXL_PLUGIN_DIR instead. Or a library that it needs is "
			"missing, or has not the version that the file was built with.\n",
		.check = "The folders, and what the loader says:\n"
			"    tcpx doctor --only nixl\n"
			"    tcpx doctor --only nixl-load\n",
		.fix = "Link the file into that folder. Install the library that is named; where a "
			"version is missing, build the plugin on this machine or an older one.\n",
	},
	{
		.name = "nccl-plugin", .title = "NCCL does not use the plugin",
		.says = { "nccl-used", "NET/Plugin: Could not find", "Using network Socket",
			  "libnccl-net-tcpx-p2p.so", "ncclNetPlugin_v", "No plugin found (",
			  "network tcpx-p2p not found", "External network plugin" },
		.symptom = "NCCL's log (NCCL_DEBUG=INFO) says \"Using network Socket\", or a rank waits for "
			"others for ever. NCCL goes on with its sockets where a plugin does not load.\n",
		.cause = "NCCL_NET_PLUGIN is not set for this rank, or the file is not in the loader's path. "
			"NCCL_NET names another net. Or NCCL 2.27 to 2.29 made a communicator again, and "
			"has forgotten the plugin's name.\n",
		.check = "What the loader says with this environment; and of a job, with the log that it wrote:\n"
			"    tcpx doctor --only nccl\n"
			"    NCCL_DEBUG_FILE=/tmp/nccl.%h.%p tcpx doctor --only nccl-used\n",
		.fix = "Give every rank the variables, here and on all machines:\n"
			"    eval \"$(tcpx env nccl)\"\n"
			"With NCCL 2.27 to 2.29 also NCCL_NET_PLUGIN_REF_COUNT=1.\n",
	},
	{
		.name = "nccl-start", .title = "the plugin for NCCL does not start",
		.says = { "no engine: ", "NET plugin tcpx-p2p", "initialize any NET plugin",
			  "no socket interface found" },
		.symptom = "NCCL's log has \"NET/tcpx-p2p : no engine:\" with a reason. NCCL goes on with its "
			"sockets, or, with NCCL_NET=tcpx-p2p, ends with an error.\n",
		.cause = "A setting TCPX_... has a value that is not allowed, a file that one names cannot be "
			"read, or no NIC has a name that NCCL_SOCKET_IFNAME or TCPX_NICS has.\n",
		.check = "What the plugin says with this environment, and the NICs:\n"
			"    tcpx doctor --only nccl\n"
			"    tcpx info\n",
		.fix = "Correct what the line names. \"no socket interface found\" is NCCL's own line: "
			"NCCL_SOCKET_IFNAME names no NIC of this machine.\n",
	},
	{
		.name = "no-client", .title = "a server that measures one client has met none",
		.says = { "no client to measure" },
		.symptom = "It ends with exit code 1 after the time of --wait, or without it 10 s "
			"after it refused one.\n",
		.cause = "The client was not started, went elsewhere, or was turned away: what was "
			"refused stands above in the server's log.\n",
		.check = "The client's log; who listens where:\n"
			"    ss -ltnp\n",
		.fix = "Start both sides with the same program, port and number of a GPU; --wait 0 "
			"waits for ever.\n",
	},
	{
		.name = "sides-differ", .title = "the two sides measured different times",
		.says = { "two sides' times are more than" },
		.symptom = "Both sides time the same iterations, and their times are more than 3 % "
			"apart. The bytes are right.\n",
		.cause = "The run is so short that its first and last message count, or one side's "
			"CPUs were busy with something else.\n",
		.check = "Others' load, and where threads ran:\n"
			"    tcpx diag run -- PROGRAM\n",
		.fix = "More iterations or larger messages; an idle machine.\n",
	},
	{
		.name = "refused", .title = "nobody listens at that address and port",
		.says = { "ECONNREFUSED" },
		.symptom = "Connecting is tried for some seconds and then fails.\n",
		.cause = "The server has not been started, has ended, listens at another port, or at "
			"addresses of other NICs only. A firewall that rejects looks alike.\n",
		.check = "On the server, who listens where:\n"
			"    ss -ltnp\n",
		.fix = "Start the server first; give the client an address and the port that the "
			"server printed.\n",
	},
	{
		.name = "port-taken", .title = "the port belongs to another program",
		.says = { "EADDRINUSE" },
		.symptom = "A server or engine does not start; the line names address and port.\n",
		.cause = "Another server still runs, perhaps one of an earlier run, or another program "
			"has that port.\n",
		.check = "Who has it:\n"
			"    ss -ltnp\n",
		.fix = "End the other program, or choose another port (TCPX_PORT, --port).\n",
	},
	{
		.name = "no-way", .title = "the address cannot be reached from here",
		.says = { "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EHOSTDOWN", "EADDRNOTAVAIL" },
		.symptom = "Connecting or listening fails at once.\n",
		.cause = "No route leads there, the link is down, or the address to listen at is not "
			"one of this machine.\n",
		.check = "The route, the links, and each pair of NICs:\n"
			"    ip route get ADDRESS\n"
			"    tcpx doctor --peer HOST\n",
		.fix = "Correct the address, or bring the link or route up.\n",
	},
	{
		.name = "no-common-network", .title = "no NIC here reaches one of the peer's",
		.says = { "ENONET" },
		.symptom = "The handshake ends at once; the line names the NICs of both sides.\n",
		.cause = "The chosen NICs have addresses of different families, or one side offers "
			"loopback addresses only and the other none.\n",
		.check = "On both sides, which NICs are used and why:\n"
			"    tcpx info\n",
		.fix = "Choose NICs that share a network (--nics, TCPX_NICS); lo only where both sides "
			"run on one machine.\n",
	},
	{
		.name = "connection-lost", .title = "the other end closed or reset the connection",
		.says = { "ECONNRESET", "EPIPE", "ECONNABORTED", "ESHUTDOWN", "ENOTCONN", "ETIMEDOUT" },
		.symptom = "A call on a connection that stood fails.\n",
		.cause = "The other program ended, by itself or by a failure; or a firewall forgot "
			"the connection.\n",
		.check = "The other side's log and exit code. \"rx no cmsg\" there:\n"
			"    tcpx doctor --explain rx-no-cmsg\n",
		.fix = "Mend what ended the other side; start both again.\n",
	},
	{
		.name = "other-program", .title = "the other side says what was not expected",
		.says = { "EBADMSG", "EPROTO" },
		.symptom = "A server refuses a client, or a client its server, at the first words.\n",
		.cause = "The other side is another program, or one of another version.\n",
		.check = "Name and version of the program on both sides; who listens at the port:\n"
			"    tcpx --version\n"
			"    ss -ltnp\n",
		.fix = "Use the same program of the same build on both sides, each with a port of its "
			"own.\n",
	},
	{
		.name = "no-room", .title = "memory or open files do not suffice",
		.says = { "ENOMEM", "ENOBUFS", "EMFILE", "ENFILE" },
		.symptom = "Something cannot be allocated, opened or registered.\n",
		.cause = "The machine or the GPU has no memory left, or a limit of the process or the "
			"container is too low.\n",
		.check = "Memory, the GPUs' memory, and the limits:\n"
			"    free -g\n"
			"    nvidia-smi\n"
			"    ulimit -a\n",
		.fix = "Take smaller buffers or fewer channels, or raise the limit (ulimit -n, -l; the "
			"container's memory).\n",
	},
	{
		.name = "disk-full", .title = "a file cannot grow",
		.says = { "ENOSPC", "EFBIG", "EDQUOT" },
		.symptom = "A result, a record or a log ends before its end, or is not written.\n",
		.cause = "The file system or the user's share of it is full, or the file is larger than "
			"is allowed.\n",
		.check = "Room where the file lies, and the limit:\n"
			"    df -h\n"
			"    ulimit -f\n",
		.fix = "Make room, or name another directory.\n",
	},
	{
		.name = "no-such-file", .title = "a file or directory is not there",
		.says = { "ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG" },
		.symptom = "The line names a path, and a command ends before it does anything.\n",
		.cause = "The path is misspelt or relative to another directory, or the kernel is built "
			"without what would make the file.\n",
		.check = "The path, from the directory where the command runs:\n"
			"    ls -ld PATH\n",
		.fix = "Correct the path, or make what it leads to.\n",
	},
	{
		.name = "not-supported", .title = "the kernel or the file system does not have it",
		.says = { "EOPNOTSUPP", "ENOSYS", "ENOPROTOOPT", "EAFNOSUPPORT", "ENOTTY" },
		.symptom = "A call is refused that other machines allow.\n",
		.cause = "The kernel is too old or built without it, the driver does not have it, or a "
			"container's rules hide it.\n",
		.check = "The kernel and what it lacks:\n"
			"    uname -r\n"
			"    tcpx doctor --all\n",
		.fix = "Go without what the line names, or take a kernel or driver that has it.\n",
	},
	{
		.name = "not-permitted", .title = "the user may not do that",
		.says = { "EPERM", "EACCES", "EROFS" },
		.symptom = "A file, a setting of the machine or a call is refused.\n",
		.cause = "Root or a capability is needed, or the file system is read-only, as /proc and "
			"/sys are in many containers.\n",
		.check = "Who one is, and what of the machine can be read:\n"
			"    id\n"
			"    tcpx doctor\n",
		.fix = "Run it as root on the host, or in a privileged container.\n",
	},
	{
		.name = "gpu-or-device", .title = "a device or its driver failed",
		.says = { "EIO", "ENODEV", "ENXIO" },
		.symptom = "A call of the GPU's driver, a file of a device or a NIC by name fails.\n",
		.cause = "The device is not there, has another name, or is in trouble. After a GPU's "
			"failure every call to it fails.\n",
		.check = "NICs and GPUs, then what the kernel says of the GPUs:\n"
			"    tcpx topo\n"
			"    tcpx doctor --only xid\n",
		.fix = "Correct the name, or reset or replace the device.\n",
	},
	{
		.name = "bad-option", .title = "an option, or the value of one, is refused",
		.says = { "[ERROR] --", "unknown option", "takes no value",
			  "needs a value", "one word too many", "are two peers", "allowed is" },
		.symptom = "A command or program ends with exit code 2 before it does anything.\n",
		.cause = "The option does not exist, wants a value, or the value is not one that the "
			"rest of the line allows.\n",
		.check = "The options and what each allows:\n"
			"    tcpx perf --help\n",
		.fix = "Correct what the line names.\n",
	},
	{
		.name = "system-error", .title = "the system refused a call",
		.symptom = "The line ends with the system's words and the error's name.\n",
		.cause = "What stands before the words says which call, on what. errno(3) explains the "
			"name.\n",
		.check = "The call and its arguments:\n"
			"    strace -f -e trace=network,file PROGRAM\n",
		.fix = "Correct what the line names. Where a value of ours is at fault and no setting "
			"of yours, report it with the log of TCPX_DEBUG=DEBUG.\n",
	},
};

const size_t explain_other_count = ARRAY_LEN(explain_others);
