/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The five classes. docs/plugins.md has the behaviour of the GPUDirect-TCPX family of
 * plugins. Each class is shown by a test (tests/emu/errors_test.c).
 */
#include "tune/doctor/explain.h"
#include "tool/tool.h"

const struct explained explain_classes[] = {
	{
		.name = "slow-launch", .title = "each chunk waits for the GPU by itself",
		.says = { "Kernel mode: Avg" },
		.symptom = "Transfers of GPU memory take the same long time for each chunk, however "
			"small: 64 MiB in 128 chunks have been seen to take 7 s, 0.01 GB/s. The NICs "
			"are idle nearly all the time, and the CPU is inside the driver.\n",
		.cause = "A stream, events or a launcher are made and destroyed for every chunk, and "
			"the CPU waits for the device after each launch. Making and destroying makes "
			"the driver wait for the whole device. The kernel's own speed has nothing to do "
			"with it: 512 KiB take a GPU a few microseconds.\n",
		.check = "What a copy of the library's takes, below the rows:\n"
			"    tcpx perf --self --mem cuda:0 -b 64M -e 64M -v\n"
			"Calls of the driver: as many cuStreamCreate and cuStreamSynchronize as chunks "
			"is this failure.\n"
			"    nsys profile --stats=true PROGRAM\n",
		.fix = "Make streams, events and launchers once. Put all that is ready, of all "
			"channels, into one launch, and learn from a word in memory or an event that "
			"it is done. The library does that: a transfer makes nothing, and a GPU's "
			"batches are shared by all channels of a thread.\n",
	},
	{
		.name = "no-requests", .title = "a connection has no request left",
		.says = { "unable to allocate requests", "tcpx_irecv failed", "tcpx_isend failed" },
		.symptom = "isend() or irecv() of the plugin returns 3 (internal error). On the "
			"receiving side it comes at the 17th receive, though all before it are done.\n",
		.cause = "A connection has 16 requests. That of a send is free when test() says done; "
			"that of a receive only after irecvConsumed(), so receives that are done but "
			"not consumed count. Code 3 says that the caller was wrong, not that the plugin "
			"is busy.\n",
		.check = "Count posted less consumed for each connection: it must never pass 16. The "
			"plugin's own words, in a program of ours and in one of NCCL:\n"
			"    TCPX_DEBUG=INFO PROGRAM\n"
			"    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET PROGRAM\n",
		.fix = "Keep a window of at most 16 messages a connection that counts a receive until "
			"it is consumed. Unpack, wait for the unpacking, consume the oldest first, and "
			"only then post the next. The library does; TCPX_WINDOW is the window, and a "
			"window above 16 is cut to the plugin's.\n",
	},
	{
		.name = "corrupt-data", .title = "bytes arrive, but wrong ones",
		.says = { "data mismatch", "data verification failed", "wrong bytes", "expected: 0x",
			  "expected 0x", "unpack none" },
		.symptom = "Transfers end well, and the destination has stale bytes or pieces of other "
			"messages, often in whole pages of 4 KiB and more of them under load. A "
			"bandwidth above that of the NICs is the same failure, unnoticed.\n",
		.cause = "irecvConsumed() was called before the unpacking had finished: from that call "
			"on the NIC writes the next packets into those pages. A launch that has "
			"returned has not finished.\n"
			"Less often: the unpack kernel was given a list that had not all been copied; "
			"the sender changed its buffer before test() said done; or more was sent than "
			"was posted, for the sender's length counts and nobody compares.\n",
		.check = "Every byte, by a pattern that tells misplaced bytes from lost ones:\n"
			"    tcpx perf HOST\n"
			"A program of your own against the emulator, which overwrites pages as soon as "
			"they are consumed:\n"
			"    NCCL_NET_PLUGIN=libnccl-net-tcpx-emu.so TCPX_EMU_MODE=strict PROGRAM\n",
		.fix = "Consume in the order of posting, each after the event or the word that follows "
			"its unpacking. Compare the sum of the fragments with what was posted before "
			"anything is launched. The library does both, and gives TCPX_EFRAME for "
			"fragments that overlap, leave holes or reach outside. TCPX_UNPACK_IMPL=none "
			"is for measuring only: its data is wrong by intent.\n",
	},
	{
		.name = "stuck", .title = "a transfer never ends, and nothing says why",
		.says = { "test called with invalid request", "timeout at iteration" },
		.symptom = "Some chunks arrive, often as many as the window has, then nothing. No "
			"error, no connection closed; a thread may spin.\n",
		.cause = "All work of the plugin happens inside test() of the same connection: what is "
			"posted and not tested never starts. test() of a request that is not the oldest "
			"returns 3; who takes that for busy asks for ever.\n"
			"The same silence comes of NCCL_DYNAMIC_CHUNK_SIZE not set (it is then 0), and "
			"of a data connection that died: the plugin's thread ends without a word. Tags "
			"are not it: the plugin never reads them.\n",
		.check = "Settings first, then which side stands still:\n"
			"    tcpx env --lint\n"
			"    ss -tin dst PEER\n"
			"Bytes in Recv-Q that stay: the receiver does not test. Bytes in Send-Q that "
			"stay: the network or the peer.\n",
		.fix = "Test the oldest request that is not done, of every connection, in every round; "
			"take 3 for a failure and give every wait a deadline. The library does, and ends "
			"a transfer that makes no progress for TCPX_STALL_MS with TCPX_ESTALLED.\n",
	},
	{
		.name = "rx-no-cmsg", .title = "bytes came to the host's memory, not to the GPU's",
		.says = { "no cmsg", "data landed on host memory", "failed to receive data" },
		.symptom = "The receiving process ends with exit code 1 at the first bytes of a "
			"connection that was made without complaint.\n",
		.cause = "A GPU can receive only by the NIC that is its own. The receive daemon (RxDM) "
			"picks the NIC from the GPU, whatever address the connection has, and puts its "
			"rule there; packets that come by another NIC miss the rule and land in host "
			"memory. GPU 0 listening on eth2 is enough; two processes that share a NIC are "
			"not the cause.\n"
			"Also: another GPU was current when the connection was made; the sender began "
			"before the rule was in place; header split is off; RxDM is down or elsewhere; "
			"the kernel has no devmem TCP.\n",
		.check = "NICs and GPUs by distance, then all that receiving needs:\n"
			"    tcpx topo\n"
			"    tcpx doctor\n"
			"What counts while it runs, and the rules of a NIC:\n"
			"    ethtool -S eth1 | grep rx_devmem_pkts\n"
			"    ethtool -n eth1\n",
		.fix = "Let each GPU use the NIC on its own PCIe switch: on A3-high GPUs 0 and 1 eth1, "
			"2 and 3 eth2, 4 and 5 eth3, 6 and 7 eth4. The library does so, or as TCPX_MAP "
			"says, refuses other pairs, and reaches other NICs by way of the GPUs next to "
			"them. NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=50000 gives the rule "
			"time, NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx names the daemon's "
			"directory.\n",
	},
};

const size_t explain_class_count = ARRAY_LEN(explain_classes);
