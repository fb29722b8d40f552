/* SPDX-License-Identifier: Apache-2.0 */
/* The codes of tcpx/err.h, in its order. */
#include "tcpx/err.h"

#include "tune/doctor/explain.h"
#include "tool/tool.h"

#define CODE(code_) .name = #code_, .code = code_ /* the title is tcpx_err_text() */

const struct explained explain_codes[] = {
	/* ---- the call failed; nothing else is affected ---- */
	{
		CODE(TCPX_ESTATE),
		.symptom = "A call returns at once and changes nothing.\n",
		.cause = "The program did things in another order than the object allows: it posts a "
			"transfer that is still in progress, or tests one that was never posted.\n",
		.check = "The line logged names the object and its state; TCPX_DEBUG=INFO shows what "
			"came before.\n",
		.fix = "Test or wait until the transfer has ended before posting it again; prepare "
			"several transfers to have several in progress.\n",
	},
	{
		CODE(TCPX_ECONFIG),
		.symptom = "No engine opens; every command of tcpx that needs settings ends with 2.\n",
		.cause = "A value in the environment, in a file or of the caller does not parse or is "
			"out of range. It is never replaced in silence.\n",
		.check = "Each setting, its value, where that is from, and what is allowed:\n"
			"    tcpx info --config\n",
		.fix = "Correct or remove the value at the place that the message names.\n",
	},
	{
		CODE(TCPX_ELIMIT),
		.symptom = "A call, a transfer or, if the peer asked for too much, a session fails.\n",
		.cause = "What a peer or a call may make an engine keep is bounded: pieces of a list, "
			"chunks of a transfer, GPUs, notes, control bytes that a peer does not read; and "
			"all of a peer's together, and of all peers'. \"broke the protocol\": its sessions "
			"did, or others from the same address, beside which it waited for its turn.\n",
		.check = "The line logged names the limit and its value.\n",
		.fix = "Cut the transfer, or raise the setting that the line names (TCPX_CHUNK, "
			"TCPX_CREDIT_LIST_BYTES, TCPX_NOTE_LIMIT, TCPX_SEND_LIMIT, TCPX_PEER_MEMORY, "
			"TCPX_PEERS_MEMORY) on the side that refused.\n",
	},
	{
		CODE(TCPX_EBLOB),
		.symptom = "Adding a peer or importing a region fails.\n",
		.cause = "The bytes are not those that the other side exported: cut, converted as if "
			"they were text, of the other kind, or of another version of the library.\n",
		.check = "Compare length and a checksum of the bytes on both sides; tcpx --version on "
			"both.\n",
		.fix = "Carry blobs as bytes with their length; use one version on both sides.\n",
	},
	{
		CODE(TCPX_ESTALE),
		.symptom = "A list or transfer cannot be made or posted.\n",
		.cause = "The region was deregistered; ids are never used again, so this is not another "
			"region by accident.\n",
		.check = "The line logged has the id; who in the program deregistered it, and who still "
			"keeps it.\n",
		.fix = "Deregister when the last list that names the region has been freed; register "
			"anew and give the peer the new blob.\n",
	},

	/* ---- one transfer is lost ---- */
	{
		CODE(TCPX_ECANCELED),
		.symptom = "The transfer ends with this code on the side that cancelled it.\n",
		.cause = "tcpx_cancel() or the freeing of a transfer in progress. Some of its bytes may "
			"have arrived; none moves any more.\n",
		.check = "Only the program's own calls lead here.\n",
		.fix = "None is needed. The destination's contents are to be taken as undefined.\n",
	},
	{
		CODE(TCPX_EREGION),
		.symptom = "A transfer in progress ends, on either side.\n",
		.cause = "One side deregistered memory that the transfer still used. That is safe: no "
			"byte moves to or from it afterwards.\n",
		.check = "Compare the time of deregistration with the transfers open on both sides.\n",
		.fix = "Wait for the transfers, or tell the peer that the memory is about to go.\n",
	},
	{
		CODE(TCPX_EKEY),
		.symptom = "WRITE or READ fails at once; sessions and other transfers go on.\n",
		.cause = "The region's blob is of an earlier registration of the same memory, was "
			"damaged, or the region was registered for less than is asked.\n",
		.check = "The peer logs region and reason.\n",
		.fix = "Send the blob again after each registration; register with the access that the "
			"peer needs.\n",
	},
	{
		CODE(TCPX_ERANGE),
		.symptom = "A list cannot be made, or the peer refuses it.\n",
		.cause = "Offset and length of a piece end behind the region, often by a length in "
			"elements where bytes are meant, or by the size of another block.\n",
		.check = "The line names the piece, its end and the region's length.\n",
		.fix = "Correct the list; register all of the memory that it names.\n",
	},
	{
		CODE(TCPX_ELENGTH),
		.symptom = "SEND and RECV both end with this code; no byte was written.\n",
		.cause = "The receive that the tag matched has less room than the message has bytes.\n",
		.check = "Both sides' lengths for this tag.\n",
		.fix = "Post receives as large as the largest message; the length that came is told.\n",
	},
	{
		CODE(TCPX_EDATA),
		.symptom = "The bytes that arrived are not those that were sent.\n",
		.cause = "Memory that was changed while it was being sent, or read before the transfer "
			"had ended; with TCPX_CHECKSUM a chunk that arrived changed five times in a "
			"row; else a failure of the kind corrupt-data.\n",
		.check = "Where and how much, by a pattern that names misplaced bytes:\n"
			"    tcpx perf HOST\n",
		.fix = "See corrupt-data. If tcpx perf finds wrong bytes on idle memory, check the "
			"machine's memory and the GPUs (tcpx doctor --only xid).\n",
	},

	/* ---- one channel is lost ---- */
	{
		CODE(TCPX_ECHANNEL),
		.symptom = "A line in the log; transfers take longer and go on over other channels.\n",
		.cause = "A NIC or link went down, a firewall or the peer's machine reset the "
			"connection, or a plugin said that its connection failed.\n",
		.check = "Whether one NIC is concerned, or all:\n"
			"    tcpx doctor --peer HOST\n"
			"    ip -s link\n",
		.fix = "Mend the path. The session goes on with the channels that are left.\n",
	},
	{
		CODE(TCPX_EFRAME),
		.symptom = "The channel is closed and its chunks are sent again by others.\n",
		.cause = "Something on the way changes bytes or answers in the peer's place (a proxy, a "
			"load balancer), another program connected to the port; with a plugin: fragments "
			"that overlap, leave holes or reach outside.\n",
		.check = "The line names what was read and what was expected.\n",
		.fix = "Let the NICs reach each other without anything in between. With a plugin see "
			"corrupt-data.\n",
	},
	{
		CODE(TCPX_EFENCED),
		.symptom = "The receiving side's log names a channel; transfers go on.\n",
		.cause = "The sender gave the channel up, for its own reason, and had it fenced so that "
			"nothing old can arrive.\n",
		.check = "The sender's log of the same time has the cause.\n",
		.fix = "None here; see the sender's cause.\n",
	},

	/* ---- the session is lost ---- */
	{
		CODE(TCPX_EPEERGONE),
		.symptom = "All transfers with the peer end at once, and later ones fail at once.\n",
		.cause = "The peer's process ended or was restarted. One that was restarted is another "
			"peer: what was posted to the old one would reach memory that is not there. It "
			"is said with proof alone: the peer's farewell, another incarnation that answers, "
			"or all its addresses that refuse in two rounds. These are half a second apart if "
			"its kernel closed a connection; a quarter of TCPX_STALL_MS if it was reset, as a "
			"firewall does, too; a second before the first contact. So the end of a process that "
			"was killed is known after 0.5 to 3 s, and not at its first lost connection, which a "
			"firewall or a restart of a NIC causes, too. Proof has this price.\n",
		.check = "The peer's own log and exit code.\n",
		.fix = "Take the new peer's blobs and add it anew.\n",
	},
	{
		CODE(TCPX_ESTALLED),
		.symptom = "After TCPX_STALL_MS without a byte all transfers of the session end, or "
			"after as long without a control stream. What the peer saw first stands behind "
			"\"ended the session\". The line names transfer, chunk, channel and addresses, and "
			"counts the channels that moved lately. While other transfers move, one that is "
			"stuck ends alone.\n",
		.cause = "A path that swallows packets (a firewall that drops, an MTU that does not fit "
			"the way, a NIC without a route back), or a peer that is stopped.\n",
		.check = "Reachability of each NIC, MTU and firewall; then the connections:\n"
			"    tcpx doctor --peer HOST\n"
			"    ss -tin dst HOST\n",
		.fix = "Mend the path. Where a peer's process may be stopped, as under a debugger, set "
			"TCPX_FREEZE_MS; 86400s is no limit. With a plugin see stuck.\n",
	},
	{
		CODE(TCPX_EPROTO),
		.symptom = "The session ends on both sides.\n",
		.cause = "A frame that no peer of this version sends in this state: a failure in one of "
			"the libraries, or bytes that were changed on the way.\n",
		.check = "The line names frame and state; tcpx --version on both sides.\n",
		.fix = "Use one version on both sides. If it comes again, report it with the log of both "
			"sides at TCPX_DEBUG=DEBUG.\n",
	},
	{
		CODE(TCPX_EAUTH),
		.symptom = "Connecting fails; nothing was exchanged but the greeting.\n",
		.cause = "The files that TCPX_SECRET_FILE names differ, or one side has none; or the address "
			"leads to another engine than the one that was meant. \"this incarnation has a session\": "
			"somebody else has said the name and incarnation of this engine there, or this process "
			"is a copy of another, and that session answers. A peer that is dialled by two names is "
			"no cause: both have one session.\n",
		.check = "On both sides, which file and what is in it:\n"
			"    tcpx info --config\n"
			"    sha256sum FILE\n",
		.fix = "Give both sides the same file, of at least 16 bytes and readable by its owner only. "
			"A line end at its end does not count. With a secret only who has it can say that name.\n",
	},
	{
		CODE(TCPX_ETIMEDOUT),
		.symptom = "Adding a peer or the first transfer fails after TCPX_CONNECT_MS or "
			"TCPX_HANDSHAKE_MS.\n",
		.cause = "Nobody listens there, a firewall drops the ports, the address is of another "
			"network or of the peer's loopback; or the listener is not an engine.\n",
		.check = "Address, reachability of each NIC, ports there and back, with tcpx serve "
			"running there:\n"
			"    tcpx doctor --peer HOST:PORT\n",
		.fix = "Correct the address or open the ports: TCPX_PORT, and those of the data "
			"connections, which are local ports of the listener.\n",
	},
	{
		CODE(TCPX_EVERSION),
		.symptom = "The handshake fails; the line has both sides' values.\n",
		.cause = "The two libraries are too far apart, one side uses a plugin and the other "
			"sockets, or the plugin's chunk, sockets or threads differ.\n",
		.check = "On both sides:\n"
			"    tcpx --version\n"
			"    tcpx info\n",
		.fix = "Use one version and one TCPX_PROVIDER, and the same NCCL_DYNAMIC_CHUNK_SIZE, "
			"NCCL_NSOCKS_PERTHREAD and NCCL_SOCKET_NTHREADS on both sides.\n",
	},
	{
		CODE(TCPX_ECLOSED),
		.symptom = "Transfers in progress end, later calls on that peer fail.\n",
		.cause = "This program closed the engine or dropped the peer.\n",
		.check = "Only the program's own calls lead here.\n",
		.fix = "Close after the last transfer has ended.\n",
	},
	{
		CODE(TCPX_ENOCHANNEL),
		.symptom = "The session ends though the control stream is well.\n",
		.cause = "All channels of one direction have failed, each with a line of its own; with "
			"TCPX_STRICT_NICS=1 one NIC that could not connect is enough.\n",
		.check = "The lines before, and each pair of NICs, whose refused or silent ports this "
			"names:\n"
			"    tcpx doctor --peer HOST\n",
		.fix = "Mend the causes of the channels. NICs that reach no NIC of the peer can be left "
			"out by TCPX_NICS.\n",
	},
};

const size_t explain_code_count = ARRAY_LEN(explain_codes);
