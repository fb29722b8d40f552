# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# Common parts of the shell tests: TAP output, a scratch directory, and a lab of their own that
# is removed on every exit. Sourced with the path of the tool as $1.

tool=$(realpath "$1") # tests may change their directory
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
count=0
failed=0
# In memory, where there is enough and programs may be started from it: a disk takes seconds for
# thousands of files.
in_memory() {
	df -Pk /dev/shm 2>/dev/null | awk 'END { exit $4 < 1000000 }' || return
	probe=$(mktemp /dev/shm/tcpx-XXXXXX 2>/dev/null) || return
	printf '#!/bin/sh\n' >"$probe"
	chmod +x "$probe"
	"$probe" 2>/dev/null
	code=$?
	rm "$probe"
	return $code
}
[ "${TMPDIR-}" ] || ! in_memory || export TMPDIR=/dev/shm
scratch=$(mktemp -d)
lab=t$$
jobs_started=
# engines that a test kills leave their sockets here
export TCPX_STATS="$scratch/stats"

finish() {
	for pid in $jobs_started; do
		kill -9 "$pid" 2>/dev/null
	done
	if [ -e "/run/tcpx-lab/$lab.json" ]; then
		for pid in $(lab_pids); do
			kill -9 "$pid" 2>/dev/null
		done
		"$tool" lab down --name "$lab"
	fi
	rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

lab_pids() {
	"$tool" lab status --name "$lab" --json - | python3 -c "
import json, sys
print(*[p for h in json.load(sys.stdin)['labs'][0]['hosts'] for p in h['pids']])"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 77
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root, for network namespaces"
}

# A lab for this test, or the reason why not. Arguments go to lab up.
lab_up() {
	need_root
	"$tool" lab up --name "$lab" "$@" >"$scratch/up" 2>&1 && return
	[ $? != 3 ] || skip_all "no network namespaces here: $(head -1 "$scratch/up")"
	cat "$scratch/up"
	exit 1
}

# ok NAME COMMAND...: one test point; what the command printed shows when it fails.
ok() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$scratch/out" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$scratch/out"
		failed=$((failed + 1))
	fi
}

# exits CODE COMMAND...
exits() {
	want=$1
	shift
	"$@"
	got=$?
	[ "$got" = "$want" ] || { echo "exit code $got, want $want"; return 1; }
}

# says TEXT COMMAND...: its output, stdout and stderr, has TEXT in it.
says() {
	text=$1
	shift
	"$@" >"$scratch/said" 2>&1
	cat "$scratch/said"
	grep -qF -- "$text" "$scratch/said"
}

# joined COMMAND...: what it prints as one line, as a sentence may be on two.
joined() {
	"$@" 2>&1 | tr -s '\n ' ' '
}

# start LOG COMMAND...: in the background, ended with the test; its id in $started.
start() {
	log=$1
	shift
	: >"$log" # now, and not when the job runs: what an earlier one said is not its
	"$@" >"$log" 2>&1 &
	started=$!
	jobs_started="$jobs_started $started"
}

# within SECONDS COMMAND...: asks again until it is true.
within() {
	until=$(($(date +%s) + $1))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$until" ] || return 1
		sleep 0.02
	done
}

# alone_with_irqs: one test at a time may move this machine's interrupts, or judge runs by their affinity.
alone_with_irqs() {
	! command -v flock >/dev/null || { exec 9<"$(dirname "$0")/tap.sh" && flock 9; }
}

# free_port [ADDRESS]: one with three free ones behind it, none of those that connections are
# given; somebody may still be faster, so who uses it asks again.
free_port() {
	python3 - "${1:-127.0.0.1}" <<'END'
import random, socket, sys
while True:
    base = random.randrange(20000, 32000)
    held = [socket.socket() for _ in range(4)]
    try:
        for i, one in enumerate(held):
            one.bind((sys.argv[1], base + i))
    except OSError:
        continue
    print(base)
    break
END
}

# both TEXT...: each is in $scratch/server and in $scratch/client (extended expressions).
both() {
	for text; do
		for side in server client; do
			grep -qE -- "$text" "$scratch/$side" || {
				echo "no '$text' of the $side"
				cat "$scratch/$side"
				return 1
			}
		done
	done
}

# result FILE EXPRESSION: true of a result file, as python sees it (r, and its rows).
result() {
	python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
rows = r['rows']
if not ($2):
    sys.exit(json.dumps(rows, indent=1)[:4000])" "$1"
}

# right FILE [EXPRESSION]: there are rows, every byte of each was compared and is right, of the raw
# sockets beside it as well; and the expression is true, as result() has it.
right() {
	result "$1" "rows and all(x['checked'] and x['compared'] == 1 and x['wrong'] == 0 and
		x.get('baseline_compared', 1) == 1 and not x.get('baseline_wrong') for x in rows) and (${2:-True})"
}

# right_in_part FILE [EXPRESSION]: likewise of runs by the clock or of latency, which compare a share
# and tell it.
right_in_part() {
	result "$1" "rows and all(0 < x['compared'] <= 1 and x['checked'] == (x['compared'] == 1) and
		x['wrong'] == 0 and x.get('baseline_compared', 1) > 0 and not x.get('baseline_wrong')
		for x in rows) and (${2:-True})"
}

# on HOST COMMAND...: a command of this test's lab.
on() {
	host=$1
	shift
	"$tool" lab exec --name "$lab" "$host" "$@"
}

# link_runs NIC: that of both hosts is up, as an engine asks for it.
link_runs() {
	on h0 grep -qx up "/sys/class/net/$1/operstate" &&
		on h1 grep -qx up "/sys/class/net/$1/operstate"
}

# a3_high FILE: Google's machine as a text, with its control NIC eth0.
a3_high() {
	sed -e '/^nic eth1/i nic eth0 node 0 rx 16 tx 16 max 16 driver gve path pci0000:00/0000:00:0c.0/0000:10:00.0' \
		-e '/^irq eth1 tx/i irq eth0 tx 0-15 at 34 hwirq 0 name gve-ntfy-blk{0}@pci:0000:10:00.0' \
		-e '/^irq eth1 tx/i irq eth0 rx 0-15 at 50 hwirq 16 name gve-ntfy-blk{16}@pci:0000:10:00.0' \
		"$fixtures/a3-high.spec" >"$1"
}

# serve_on HOST: its process id in $server, what it says in $scratch/serve.
serve_on() {
	start "$scratch/serve" "$tool" lab exec --name "$lab" "$1" "$tool" serve
	server=$started
	within 60 listens "$1" || {
		cat "$scratch/serve"
		exit 1
	}
}

# The server's control port is open on HOST (28515 is 6F63).
listens() {
	on "$1" grep -q ':6F63 .* 0A ' /proc/net/tcp /proc/net/tcp6
}

# sent NIC: bytes, by h0.
sent() {
	on h0 awk -v nic="$1" 'sub(":", "", $1) && $1 == nic { printf "%.0f\n", $10 }' /proc/net/dev
}

# at_work NIC BYTES: h0 has sent 4 MB more by it.
at_work() {
	[ "$(sent "$1")" -gt $(($2 + 4000000)) ]
}

# moved BYTES: the NICs of h0 have sent that much.
moved() {
	"$tool" lab status --name "$lab" --json - | python3 -c "
import json, sys
h0 = json.load(sys.stdin)['labs'][0]['hosts'][0]
sys.exit(sum(n['tx_bytes'] for n in h0['nics']) < $1)"
}

done_testing() {
	echo "1..$count"
	[ "$failed" = 0 ]
	exit
}
