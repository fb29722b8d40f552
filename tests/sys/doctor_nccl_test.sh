#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin for NCCL, from the outside: tcpx env nccl gives variables with which the loader finds
# it, tcpx doctor says whether it does, and what NCCL's log says. $2: the plugin.
. "$(dirname "$0")/tap.sh"

unset NCCL_NET NCCL_SOCKET_IFNAME NCCL_NET_PLUGIN NCCL_DEBUG_FILE LD_LIBRARY_PATH TCPX_PLUGIN_PATH
export TCPX_NICS=lo
plugin=$(realpath "$2")
log=$scratch/nccl.$(hostname | cut -d. -f1)

# says TEXT COMMAND...: its output has the text, however the lines are wrapped
says() {
	text=$1
	shift
	"$@" >"$scratch/said" 2>&1
	cat "$scratch/said"
	tr -s ' \n' ' ' <"$scratch/said" | grep -qF "$text"
}
# judged CODE TEXT COMMAND...: and it ends with this code
judged() {
	want=$1 text=$2
	shift 2
	"$@" >"$scratch/said" 2>&1
	code=$?
	cat "$scratch/said"
	[ $code = "$want" ] && tr -s ' \n' ' ' <"$scratch/said" | grep -qF "$text"
}
doctor() {
	env "$@" "$tool" doctor --only "$check" --all
}
# with the printed variables in the environment the loader finds the file that was built
found() {
	(
		eval "$("$tool" env nccl)"
		[ "$NCCL_NET_PLUGIN" = tcpx-p2p ] && judged 0 "$plugin, for NCCL's tables v6 to v12" doctor
	)
}
# a second time nothing is missing, so that no folder is added again
settled() {
	(
		eval "$("$tool" env nccl)"
		"$tool" env nccl >"$scratch/again"
		! grep LD_LIBRARY "$scratch/again" && grep -x 'export NCCL_NET_PLUGIN=tcpx-p2p' "$scratch/again"
	)
}
docker_form() {
	LD_LIBRARY_PATH=/one:/two "$tool" env nccl --format docker --nics eth0,eth1 >"$scratch/env" &&
		grep -x "LD_LIBRARY_PATH=$(dirname "$plugin"):/one:/two" "$scratch/env" &&
		grep -x 'TCPX_NICS=eth0,eth1' "$scratch/env"
}
# sbatch knows no --cpu-bind, and a part of a machine will do
slurm_form() {
	"$tool" env nccl --format slurm >"$scratch/env" && grep -x 'export SLURM_CPU_BIND=none' "$scratch/env" &&
		! grep SBATCH "$scratch/env"
}
# the variables are complete, and standard error says what the plugin thinks of them here
warned_of_nics() {
	"$tool" env nccl --nics nosuch >"$scratch/env" 2>"$scratch/said" &&
		grep -x 'export TCPX_NICS=nosuch' "$scratch/env" && cat "$scratch/said" &&
		tr -s ' \n' ' ' <"$scratch/said" | grep -q 'does not start here: NIC selection "nosuch" leaves none'
}
quiet() {
	"$tool" env nccl --nics lo 2>&1 >"$scratch/env" | wc -c | grep -qx 0 && ! grep NCCL_NET= "$scratch/env"
}
another_net() {
	NCCL_NET=Socket "$tool" env nccl | grep -x 'export NCCL_NET=tcpx-p2p'
}
# our own plugin is for NCCL: neither perf nor doctor takes it for one to drive
not_driven() {
	NCCL_NET_PLUGIN=$plugin "$tool" perf --self -b 64K -e 64K -n 2 >"$scratch/said" 2>&1 || return
	grep -q 'provider sock' "$scratch/said" && check=plugin && judged 0 "it is this library itself" doctor "NCCL_NET_PLUGIN=$plugin"
}
said() {
	printf 'h:1:2 [0] NCCL INFO %s\n' "$@"
}

check=nccl
ok "said in one line among all checks" says "NCCL 2 skipped: NCCL_NET_PLUGIN is not set: tcpx env nccl prints it" "$tool" doctor
ok "skipped without the variable" judged 0 "NCCL_NET_PLUGIN is not set" doctor
ok "skipped for another's plugin" judged 0 "not ours" doctor NCCL_NET_PLUGIN=libc.so.6
ok "an error where the loader does not find it" judged 1 "cannot open shared object" doctor NCCL_NET_PLUGIN=tcpx-p2p
ok "the printed variables suffice" found
ok "and are complete" settled
ok "for docker, behind what is there" docker_form
ok "for Slurm" slurm_form
ok "a NIC that is not here is said" warned_of_nics
ok "one that is is not" quiet
ok "another net is replaced" another_net
ok "a path will do" judged 0 "$plugin, for NCCL's tables v6 to v12; NCCL before 2.21, and 2.27.3, take no path" \
	doctor "NCCL_NET_PLUGIN=$plugin"
ok "a list that names another first, too" judged 0 "NCCL before 2.27 takes no list" doctor "NCCL_NET_PLUGIN=nosuch,$plugin"
other=$NET_FAKE_DIR/libnet_fake_v8.so
ok "not where the first is another plugin" judged 1 "NCCL takes $other first; NCCL_NET=tcpx-p2p chooses ours" \
	doctor "NCCL_NET_PLUGIN=$other,$plugin"
ok "unless the net is named" judged 0 "$plugin" doctor "NCCL_NET_PLUGIN=$other,$plugin" NCCL_NET=TCPX-P2P
ok "NCCL_NET names another net" judged 1 "NCCL_NET is Socket, and NCCL takes no other net: unset it, or NCCL_NET=tcpx-p2p" \
	doctor "NCCL_NET_PLUGIN=$plugin" NCCL_NET=Socket
for name in tcpx_p2p TCPX-P2P tcpxp2p libtcpx-p2p "$(dirname "$plugin")" "$(dirname "$plugin")/nosuch/libnccl-net-tcpx-p2p.so" "a,tcpx_p2p"; do
	ok "no name of it: ${name##*/}" judged 1 "the plugin's name is tcpx-p2p" doctor "NCCL_NET_PLUGIN=$name"
done
ok "a file is no suffix" judged 1 "libnccl-net-tcpx-p2p.so: cannot open shared object" doctor NCCL_NET_PLUGIN=libnccl-net-tcpx-p2p.so
for name in tcpx aws-ofi libnccl-net-tcpx.so none; do
	ok "another's is skipped: $name" judged 0 "which is not ours" doctor "NCCL_NET_PLUGIN=$name"
done
set -- "NCCL_NET_PLUGIN=$plugin"
ok "its init() is asked: a NIC" judged 1 'does not start: NIC selection "nosuch" leaves none' doctor "$@" TCPX_NICS=nosuch
ok "which names its setting" judged 1 'set by NCCL_SOCKET_IFNAME' doctor "$@" TCPX_NICS= NCCL_SOCKET_IFNAME=nosuch
ok "a value" judged 1 'does not start: TCPX_WINDOW "abc" (environment): allowed: 1 to 256' doctor "$@" TCPX_WINDOW=abc
ok "a secret" judged 1 "does not start: open TCPX_SECRET_FILE $scratch/nosuch: no such file" doctor "$@" "TCPX_SECRET_FILE=$scratch/nosuch"
ok "it drives no transfers of ours" not_driven


# conf LINE...: the user's file of NCCL
conf() {
	printf '%s\n' "$@" >"$scratch/nccl.conf"
}
export NCCL_CONF_FILE=$scratch/nccl.conf
check=nccl
conf "NCCL_NET_PLUGIN=$plugin"
ok "a file of NCCL names the plugin" judged 0 "$plugin, for NCCL's tables v6 to v12" doctor
conf NCCL_NET_PLUGIN=tcpx-p2p
ok "and its line is named" judged 1 "NCCL_NET_PLUGIN ($NCCL_CONF_FILE line 1) is tcpx-p2p" doctor
conf "NCCL_NET_PLUGIN=$plugin" NCCL_NET=Socket
ok "as that of another net is" judged 1 "NCCL_NET ($NCCL_CONF_FILE line 2) is Socket, and NCCL takes no other" doctor
ok "the environment comes first" judged 0 "$plugin" doctor NCCL_NET=tcpx-p2p
conf "NCCL_NET_PLUGIN=$plugin" NCCL_SOCKET_IFNAME=nosuch
ok "the plugin has the file's variables" judged 1 'set by NCCL_SOCKET_IFNAME "nosuch"' doctor TCPX_NICS=
conf NCCL_NET=Socket
ok "what is printed answers the file, too" says "export NCCL_NET=tcpx-p2p" "$tool" env nccl
conf NCCL_SOCKET_IFNAME==lo,
ok "NICs are taken from it" says " yes lo " env -u TCPX_NICS "$tool" info
conf NCCL_SOCKET_IFNAME===lo
ok "a list of nothing is not used" says "NCCL_SOCKET_IFNAME ($NCCL_CONF_FILE line 1) \"==lo\" leaves no NIC, and is not used" \
	env -u TCPX_NICS "$tool" info
unset NCCL_CONF_FILE

check=nccl-used
ok "skipped without a log, with the way to one" judged 0 "run the job with NCCL_DEBUG=INFO and NCCL_DEBUG_FILE=/tmp/nccl.%h.%p" doctor "NCCL_NET_PLUGIN=$plugin"
set -- "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
ok "a log that is not there" judged 0 "No such file" doctor "$@"
said "NCCL version 2.28.3+cuda13.0" >"$log.7"
ok "a log that says nothing of it" judged 0 "names no net" doctor "$@"
said "NCCL version 2.28.3+cuda13.0" "NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" "Using network Socket" >"$log.7"
ok "a log of sockets, with the reason" judged 1 "used Socket, says $log.7: NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" doctor "$@"
touch -d '1 hour ago' "$log.7"
said "NCCL version 2.30.1" "Using network tcpx-p2p" >"$log.8"
ok "the newest counts" judged 0 "NCCL 2.30.1 used tcpx-p2p, says $log.8" doctor "$@"
said "NET/Plugin: Loaded net plugin tcpx-p2p (v8)" "Using network tcpx-p2p" >"$log.8"
ok "a rank that writes no version" judged 0 "NCCL used tcpx-p2p, says $log.8" doctor "$@"
said "Using network tcpx-p2p" "Using network Socket" "Using network Socket" >"$log.8"
ok "communicators of different nets" judged 1 "NCCL used tcpx-p2p and Socket, says $log.8" doctor "$@"
said "Using network Socket" >"$log.8"
ok "another net in this environment" judged 1 "used Socket, says $log.8; NCCL_NET is Socket" doctor "$@" NCCL_NET=Socket

# gives REASON LINE...: of a log with these lines this is the reason
gives() {
	reason=$1
	shift
	said "$@" >"$log.8"
	set -- "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
	judged 1 "says $log.8: $reason" doctor "$@"
}
glibc="/lib/libc.so.6: version \`GLIBC_2.38' not found (required by /x/libnccl-net-tcpx-p2p.so)"
ok "2.20, no file" gives "NET/Plugin : dlerror=libnccl-net-tcpx-p2p.so: cannot open shared object file" \
	"NET/Plugin : dlerror=libnccl-net-tcpx-p2p.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net-tcpx-p2p.so), using internal implementation" \
	"Using network Socket"
ok "2.20, a newer libc" gives "NET/Plugin : Plugin load returned 0 : $glibc" \
	"NET/Plugin : Plugin load returned 0 : $glibc." "Using network Socket"
ok "2.21, no file" gives "NET/Plugin: No plugin found (libnccl-net-tcpx-p2p.so)" \
	"NET/Plugin: No plugin found (tcpx-p2p)" "NET/Plugin: No plugin found (libnccl-net-tcpx-p2p.so)" \
	"NET/Plugin: Most recent plugin load returned 2 : (null). All attempts to load 'tcpx-p2p libnccl-net-tcpx-p2p.so' also failed." \
	"NET/Plugin: Using internal network plugin." "Using network Socket"
ok "2.24, a newer libc" gives "NET/Plugin: $glibc" "NET/Plugin: $glibc" \
	"NET/Plugin: Could not find: tcpx-p2p. Using internal network plugin." "Using network Socket"
ok "2.26, NCCL_NET" gives "NET/Plugin: Could not find: tcpx-p2p libnccl-net-tcpx-p2p.so" \
	"NET/Plugin: Could not find: tcpx-p2p libnccl-net-tcpx-p2p.so. Using internal net plugin." "Error: network tcpx-p2p not found."
ok "its lines alone" gives "Error: network tcpx-p2p not found." "Error: network tcpx-p2p not found."
ok "2.28, init()" gives "Failed to initialize NET plugin tcpx-p2p" "Successfully loaded external network plugin $plugin" \
	"Failed to initialize NET plugin tcpx-p2p" "Failed to initialize NET plugin IB" "Initialized NET plugin Socket" "Using network Socket"
ok "2.28, no table" gives "External network plugin $plugin is unsupported" "External network plugin $plugin is unsupported" \
	"Initialized NET plugin Socket" "Using network Socket"
ok "the start" gives "Bootstrap : no socket interface found" "Bootstrap : no socket interface found"
warned() {
	said "Failed to initialize NET plugin tcpx-p2p" "Using network Socket" |
		sed '1i h:1:2 [0] plug.c:0 NCCL WARN NET/tcpx-p2p : no engine: why' >"$log.8"
	judged 1 "says $log.8: NET/tcpx-p2p : no engine: why" doctor "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
}
ok "what the plugin says itself" warned
said "NET/Plugin: Failed to find ncclCollNetPlugin_v9 symbol." "Using network Socket" >"$log.8"
ok "a table for CollNet is no reason" judged 1 "used Socket, says $log.8" doctor "$@"
ok "which nothing follows" sh -c '! grep -q CollNet "$1"' sh "$scratch/said"
percent() {
	said "Using network tcpx-p2p" >"$scratch/100%.%x"
	judged 0 "says $scratch/100%.%x" doctor "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/100%%.%x"
}
ok "other letters behind a percent sign" percent
dotted() {
	said "Using network tcpx-p2p" >"$scratch/log.first"
	unshare --uts sh -c 'echo first.second.third >/proc/sys/kernel/hostname && exec "$@"' sh \
		env "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/log.%h" "$tool" doctor --only nccl-used --all >"$scratch/said" 2>&1
	cat "$scratch/said"
	tr -s ' \n' ' ' <"$scratch/said" | grep -qF "says $scratch/log.first"
}
if unshare --uts true 2>/dev/null; then
	ok "%h ends at the first dot" dotted
else
	echo "# no UTS namespaces here"
fi
said "NCCL version 2.30.1" "Using network tcpx-p2p" >"$log.8"

set -- "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
ok "also where the variable is not set" judged 0 "NCCL 2.30.1 used tcpx-p2p, says $log.8" doctor "$@"
touch -d '1 hour ago' "$log.8"
said "NCCL version 2.28.3+cuda13.0" "Using network Socket" >"$log.9"
ok "a job without it is no error" judged 0 "NCCL_NET_PLUGIN is not set; NCCL 2.28.3+cuda13.0 used Socket, says $log.9" doctor "$@"
said "NCCL version 2.28.3+cuda13.0" "NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" "Using network Socket" >"$log.9"
ok "one that looked for it is" judged 1 "used Socket, says $log.9: NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" doctor "$@"
ok "another's plugin is skipped" judged 0 "not ours" doctor "$@" NCCL_NET_PLUGIN=libc.so.6

ok "a line of NCCL's log is explained" says "nccl-plugin: NCCL does not use" "$tool" doctor --explain "$(said 'Using network Socket')"
ok "other words are refused" judged 2 "nccl is the only word" "$tool" env foo
ok "and what is not for it" judged 2 "lint is not for nccl" "$tool" env nccl --lint
done_testing
