#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin for NCCL, from the outside: tcpx env nccl gives variables with which the loader finds
# it, tcpx doctor says whether it does, and what NCCL's log says. $2: the plugin.
. "$(dirname "$0")/tap.sh"

unset NCCL_NET NCCL_NET_PLUGIN NCCL_DEBUG_FILE LD_LIBRARY_PATH TCPX_PLUGIN_PATH
export TCPX_NICS=lo
plugin=$(realpath "$2")
log=$scratch/nccl.$(hostname)

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
# our own plugin is for NCCL: neither perf nor doctor takes it for one to drive
not_driven() {
	NCCL_NET_PLUGIN=$plugin "$tool" perf --self -b 64K -e 64K -n 2 >"$scratch/said" 2>&1 || return
	grep -q 'provider sock' "$scratch/said" && check=plugin && judged 0 "it is this library itself" doctor "NCCL_NET_PLUGIN=$plugin"
}
said() {
	printf 'h:1:2 [0] NCCL INFO %s\n' "$@"
}

check=nccl
ok "skipped without the variable" judged 0 "NCCL_NET_PLUGIN is not set" doctor
ok "skipped for another's plugin" judged 0 "not ours" doctor NCCL_NET_PLUGIN=libc.so.6
ok "an error where the loader does not find it" judged 1 "cannot open shared object" doctor NCCL_NET_PLUGIN=tcpx-p2p
ok "the printed variables suffice" found
ok "and are complete" settled
ok "for docker, behind what is there" docker_form
ok "a path will do" judged 0 "$plugin" doctor "NCCL_NET_PLUGIN=$plugin"
ok "NCCL_NET names another net" judged 1 "NCCL_NET is Socket" doctor "NCCL_NET_PLUGIN=$plugin" NCCL_NET=Socket
ok "it drives no transfers of ours" not_driven

check=nccl-used
ok "skipped without a log" judged 0 "NCCL_DEBUG_FILE names no log" doctor "NCCL_NET_PLUGIN=$plugin"
set -- "NCCL_NET_PLUGIN=$plugin" "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
ok "a log that is not there" judged 0 "No such file" doctor "$@"
said "NCCL version 2.28.3+cuda13.0" >"$log.7"
ok "a log that says nothing of it" judged 0 "names no net" doctor "$@"
said "NCCL version 2.28.3+cuda13.0" "NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" "Using network Socket" >"$log.7"
ok "a log of sockets, with the reason" judged 1 "used Socket, says $log.7: NET/Plugin: Could not find: libnccl-net-tcpx-p2p.so" doctor "$@"
touch -d '1 hour ago' "$log.7"
said "NCCL version 2.30.1" "Using network tcpx-p2p" >"$log.8"
ok "the newest counts" judged 0 "NCCL 2.30.1, says $log.8" doctor "$@"

set -- "NCCL_DEBUG_FILE=$scratch/nccl.%h.%p"
ok "also where the variable is not set" judged 0 "NCCL 2.30.1, says $log.8" doctor "$@"
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
