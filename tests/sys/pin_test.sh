#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# tcpx pin: commands and threads on chosen CPUs, and its messages.
. "$(dirname "$0")/tap.sh"

own=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
first=${own%%[-,]*}

cat >"$scratch/plan.json" <<EOF
{"schema": 1, "irqs": [],
 "groups": [{"nics": ["eth1", "eth2"], "head": "$first", "tx": "$first", "rx": "$first,8000"}]}
EOF

granted() {
	"$tool" pin "$@" -- sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
}

on_first() {
	[ "$(granted "$@" 2>"$scratch/err")" = "$first" ] || { cat "$scratch/err"; return 1; }
}

ok "a command runs on a CPU" on_first --cpus "$first"
ok "CPUs that cannot be had are told" says "8000 cannot be had" granted --cpus "$first,8000"
ok "and refused if strict" exits 1 granted --cpus "$first,8000" --strict
ok "none that can be had" exits 3 granted --cpus 8000
ok "a plan's sending CPUs" on_first --plan "$scratch/plan.json" --role tx --nic eth2
ok "its receiving CPUs" on_first --plan "$scratch/plan.json" --role rx --nic eth1
ok "its application's" on_first --plan "$scratch/plan.json" --role app
ok "a NIC that it does not have" exits 2 granted --plan "$scratch/plan.json" --role tx --nic eth9
ok "the command's exit code" exits 7 "$tool" pin --cpus "$first" sh -c 'exit 7'
ok "a command that there is not" exits 2 "$tool" pin --cpus "$first" /nonexistent
ok "JSON of what was granted" sh -c "
	'$tool' pin --cpus $first,8000 --json '$scratch/pin.json' true &&
	python3 -c \"
import json
t = json.load(open('$scratch/pin.json'))['threads'][0]
assert (t['requested'], t['granted'], t['missing']) == ('$first,8000', '$first', '8000'), t\""

start "$scratch/sleep" sleep 1000
allowed() {
	grep -qx "Cpus_allowed_list:[[:space:]]*$1" "/proc/$started/status"
}
within 60 grep -qx sleep "/proc/$started/comm"
ok "threads of a process by name" says "sleep" "$tool" pin --pid "$started" --map "sl*=$first"
ok "are moved" allowed "$first"
ok "no such name is a finding" exits 1 "$tool" pin --pid "$started" --map "napi/*=$first"
ok "all of its threads" exits 0 "$tool" pin --pid "$started" --cpus "$own"
ok "are moved back" allowed "$own"
kill "$started"
wait "$started" 2>/dev/null
ok "a process that is gone" exits 2 "$tool" pin --pid "$started" --cpus "$first"

# The kernel's NAPI threads, of a pair of virtual NICs that nobody else sees.
cat >"$scratch/gro.py" <<'EOF'
import array, fcntl, socket, struct
on = array.array('I', [0x2c, 1])  # ETHTOOL_SGRO, without which veth has no NAPI
fcntl.ioctl(socket.socket(), 0x8946, struct.pack('16sP8x', b'tcpxv0', on.buffer_info()[0]))
EOF
with_napi() {
	unshare -n -m sh -c 'mount -t sysfs none /sys && ip link add tcpxv0 type veth peer name tcpxv1 &&
		python3 "$1" && ip link set tcpxv0 up && ip link set tcpxv1 up &&
		echo 1 >/sys/class/net/tcpxv0/threaded || exit 99
		shift; exec "$@"' sh "$scratch/gro.py" "$@"
}
if [ "$(id -u)" = 0 ] && with_napi true >/dev/null 2>&1; then
	ok "NAPI threads" says "napi/tcpxv0" with_napi "$tool" pin --pid kernel \
		--map "napi/tcpxv0-*=%$first"
else
	count=$((count + 1))
	echo "ok $count - NAPI threads # SKIP no threaded NAPI for us here"
fi

for words in "" "--cpus" "--cpus x true" "--cpus 0" "--role tx true" "--plan $scratch/plan.json true" \
	"--pid 1 --cpus 0 true" "--map a=0 true" "--pid x --cpus 0" "--pid 1 --map a" \
	"--plan $scratch/plan.json --role tx true" "--cpus 0 --plan $scratch/plan.json --role app true"; do
	# shellcheck disable=SC2086
	ok "bad usage: $words" exits 2 "$tool" pin $words
done
done_testing
