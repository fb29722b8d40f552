#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx top: running engines are shown to their user only; sockets of dead engines are removed.
. "$(dirname "$0")/tap.sh"

stats=$TCPX_STATS
json=$scratch/top.json
prom=$scratch/tcpx.prom
unset NO_COLOR

top() {
	timeout 60 "$tool" top "$@"
}
# true_of EXPRESSION: of a new look, as python sees it (engines, and d).
true_of() {
	top --once -i 200ms --json "$json" >/dev/null || return 1
	python3 -c "
import json, sys
d = json.load(open(sys.argv[1]))
engines = d['engines']
if not ($1):
    sys.exit(json.dumps(d, indent=1)[:4000])" "$json"
}
pids() {
	python3 -c "
import json, sys
print(*[e['pid'] for e in json.load(open(sys.argv[1]))['engines']])" "$json"
}
empty() {
	[ -z "$(ls -A "$1")" ]
}
# work ARG...: two engines that stay busy.
work() {
	start "$scratch/perf" "$tool" perf --self --nics 127.0.0.1,127.0.1.1 -b 4M --duration 300 "$@"
}
end_work() {
	# shellcheck disable=SC2046
	kill -9 "$started" $(pids)
}

ok "without engines there is nothing to see" exits 1 top --once
ok "and it is said" says "no engine is running" top
ok "nor of a process without one" says "runs no engine" top --once $$
ok "Prometheus hears of none" says "tcpx_engines 0" top --once --prometheus -

work --window 20
busy="len(engines) == 2 and all(e['sessions'] and any(n['per_s'] and n['per_s']['bytes_tx'] + n['per_s']['bytes_rx'] > 0 for n in e['nics']) for e in engines)"
ok "engines at work are seen" within 60 true_of "$busy"
ok "with the rate of each NIC and channel" true_of "all(
    sorted(n['name'] for n in e['nics']) == ['127.0.0.1', '127.0.1.1'] and
    all(c['window'] == 20 and c['nic'] in ('127.0.0.1', '127.0.1.1') and c['per_s']['bytes'] >= 0
        for s in e['sessions'] for c in s['channels']) for e in engines)"
ok "what one sends the other receives" true_of "
    sum(e['totals']['bytes_tx'] for e in engines) > 0 < sum(e['totals']['bytes_rx'] for e in engines)"
ok "threads have numbers" true_of "all(t['tid'] > 0 for e in engines for t in e['threads'])"
ok "the view names NICs" says "127.0.1.1" top --once -i 100ms
ok "stdout is clean JSON" sh -c "'$tool' top --once -i 100ms --json - | python3 -m json.tool >/dev/null"
one=$(pids | cut -d' ' -f1)
ok "one process is one engine" sh -c "'$tool' top --once -i 100ms --json - $one | grep -c incarnation | grep -qx 1"
ok "views follow each other where no terminal is" sh -c "
	timeout 60 '$tool' top -i 50ms | grep -m 3 -c '2 engines' | grep -qx 3"

ok "the directory is its user's alone" test "$(stat -c %a "$stats")" = 700
ok "and so is each socket" test "$(stat -c %a "$stats"/*.sock | sort -u)" = 600

ok "counters for Prometheus" top --once --prometheus "$prom"
ok "are whole and valid" python3 - "$prom" <<'PY'
import re, sys
known, seen = {}, set()
for line in open(sys.argv[1]):
    m = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)\n", line)
    if m:
        known.setdefault(m[2], set()).add(m[1])
        continue
    m = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? ([0-9.e+-]+)\n', line)
    assert m, line
    assert known.get(m[1]) == {"HELP", "TYPE"}, line
    assert (m[1], m[2]) not in seen, line
    seen.add((m[1], m[2]))
    float(m[3])
assert ("tcpx_engines", None) in seen
assert sum(name == "tcpx_nic_bytes_total" for name, _ in seen) == 8, seen
PY
ok "no draft is left beside them" test "$(ls "$scratch"/tcpx.prom*)" = "$prom"

# painted KIND: what a terminal gets; KIND is NO_COLOR or anything else.
painted() {
	python3 - "$tool" "$1" <<'PY'
import os, pty, select, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    if sys.argv[2] == "NO_COLOR":
        os.environ["NO_COLOR"] = "1"
    os.execv(sys.argv[1], [sys.argv[1], "top", "-i", "100ms"])
got, end = b"", time.time() + 60
while got.count(b"\033[H") < 3 and time.time() < end and select.select([fd], [], [], 60)[0]:
    got += os.read(fd, 65536)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
assert got.count(b"\033[H") >= 3, got
assert (b"\033[1m" in got) == (sys.argv[2] != "NO_COLOR"), got
assert b"lines more" in got, got  # 24 lines do not hold two engines
PY
}
ok "a terminal is painted over" painted plainly
ok "without colour where none is wanted" painted NO_COLOR

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch"
	socket=$(ls "$stats"/*.sock | head -1)
	# as KIND: what a connection by another user comes to.
	other() {
		python3 - "$socket" "$1" <<'PY'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    s.connect(sys.argv[1])
    answer = "hung up" if s.recv(1) == b"" else "answered"
except PermissionError:
    answer = "refused"
assert answer == sys.argv[2], answer
PY
	}
	ok "another user is refused" other refused
	chmod 755 "$stats"
	chmod 666 "$socket"
	ok "and hung up on where modes would let him in" other "hung up"
	chmod 777 "$stats"
	ok "a directory that others may write to is not trusted" says "others may write" top --once
	chmod 700 "$stats"
	ok "then it is again" true_of "len(engines) == 2"
fi

end_work
ok "what the dead left is removed" within 30 sh -c "! '$tool' top --once 2>/dev/null && [ -z \"\$(ls -A '$stats')\" ]"
ok "who ends well leaves nothing" timeout 60 "$tool" perf --self --nics 127.0.0.1 -b 1M -n 1
ok "but an empty directory" empty "$stats"

if [ -e "$FAKECUDA_LIBRARY" ]; then
	export TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY"
	work --mem cuda:0 --peer-mem cuda:0
	ok "GPUs have rates" within 60 true_of "len(engines) == 2 and any(g['per_s']['bytes_packed'] > 0 for e in engines for g in e['gpus'] if g['per_s'])"
	ok "on both sides" true_of "any(g['bytes_unpacked'] > 0 for e in engines for g in e['gpus'])"
	end_work
fi

touch "$scratch/file"
ok "an engine works without a socket" env TCPX_STATS="$scratch/file/x" timeout 60 "$tool" perf --self \
	--nics 127.0.0.1 -b 1M -n 1
ok "or with none wanted" env TCPX_STATS=off timeout 60 "$tool" perf --self --nics 127.0.0.1 -b 1M -n 1
ok "a name that is no path is refused" says "allowed are auto" env TCPX_STATS=here timeout 60 \
	"$tool" perf --self --nics 127.0.0.1 -b 1M -n 1
ok "an interval that is none is refused" exits 2 top --interval soon
ok "a process that is none is refused" exits 2 top nobody
ok "two texts for stdout are refused" exits 2 top --json - --prometheus -
done_testing
