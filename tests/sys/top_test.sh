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

# screen WAY: what a terminal gets, and how it ends: NO_COLOR (q), keys (Enter, q), INT, TSTP.
screen() {
	python3 - "$tool" "$1" <<'PY'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
way = sys.argv[2]
ready, go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):  # a job of a script ignores them
        signal.signal(one, signal.SIG_DFL)
    os.read(ready, 1)
    if way == "NO_COLOR":
        os.environ["NO_COLOR"] = "1"
    if way == "TSTP":  # only a shell's job can be stopped
        os.execvp("bash", ["bash", "-c", 'set -m; "$0" top -i 100ms; echo stopped; read -r; fg', sys.argv[1]])
    os.execv(sys.argv[1], [sys.argv[1], "top", "-i", "100ms"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
before = termios.tcgetattr(fd)[3]
os.write(go, b"x")
got, hang = b"", time.time() + 60
def wait(what, count=1):
    """Reads until the output since the last call has it; returns it up to there."""
    global got
    while got.count(what) < count:
        assert time.time() < hang, (what, got[-3000:])
        if select.select([fd], [], [], 60)[0]:
            try:
                got += os.read(fd, 65536)
            except OSError:
                break
    assert got.count(what) >= count, (what, got[-3000:])
    end = 0
    for _ in range(count):
        end = got.index(what, end) + len(what)
    seen, got = got[:end], got[end:]
    return seen
enter, leave = b"\033[?1049h", b"\033[?25h\033[?1049l"
seen = wait(b"q quits", 3)
assert enter in seen and b"2 engines" in seen, seen
assert (b"\033[1m" in seen) == (way != "NO_COLOR"), seen
lines = re.sub(r"\033\[[\d?]*[A-GI-Zhlm]|\r", "", seen.decode()).replace("\033[H", "\n").split("\n")
assert max(len(line) for line in lines[:-1]) <= 80, lines
if way == "keys":
    os.write(fd, b"\033[B\r")
    assert b"Left goes back" in wait(b"Left goes back")
    os.write(fd, b"\033[D")
    wait(b"Enter opens")
    os.write(fd, b"s")
    wait(b"by pid")
if way == "TSTP":
    os.write(fd, b"\032")
    wait(leave)
    wait(b"stopped")
    assert termios.tcgetattr(fd)[3] == before, "the terminal was not restored"
    os.write(fd, b"\n")
    wait(enter)
    wait(b"q quits")
os.write(fd, b"\003" if way == "INT" else b"q")
wait(leave)
assert select.select([os.pidfd_open(pid)], [], [], 60)[0], "it did not end"
status = os.waitpid(pid, 0)[1]
assert termios.tcgetattr(fd)[3] == before, "the terminal was not restored"
if way == "INT":
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, status
else:
    assert status == 0, status
PY
}
ok "a terminal has a line for each engine" screen plainly
ok "without colour where none is wanted" screen NO_COLOR
ok "keys choose, open and sort" screen keys
ok "Ctrl-C restores the terminal and ends by its signal" screen INT
ok "Ctrl-Z restores it, and continuing paints anew" screen TSTP
ok "--pid is one process" sh -c "'$tool' top --once -i 100ms --json - --pid $one | grep -c incarnation | grep -qx 1"

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
ok "what the dead left is removed" within 60 sh -c "! '$tool' top --once 2>/dev/null && [ -z \"\$(ls -A '$stats')\" ]"
ok "who ends well leaves nothing" timeout 60 "$tool" perf --self --nics 127.0.0.1 -b 1M -n 1
ok "but an empty directory" empty "$stats"

if [ -e "$FAKECUDA_LIBRARY" ]; then
	export TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY"
	work --mem cuda:0 --peer-mem cuda:0
	ok "GPUs have rates" within 60 true_of "len(engines) == 2 and any(g['per_s']['bytes_packed'] > 0 for e in engines for g in e['gpus'] if g['per_s'])"
	ok "on both sides" true_of "any(g['bytes_unpacked'] > 0 for e in engines for g in e['gpus'])"
	end_work
fi

work --op lane --lanes 3
ok "lanes are counted" within 60 true_of "len(engines) == 2 and all(
    len(e['sessions']) == 1 and s['lanes'] == 3 and s['lanes_failed'] == 0 and
    s['lane_messages_tx'] + s['lane_messages_rx'] > 0 and
    s['lane_bytes_tx'] == s['lane_messages_tx'] * (4 << 20) and
    s['lane_bytes_rx'] == s['lane_messages_rx'] * (4 << 20)
    for e in engines for s in e['sessions'])"
ok "and seen" says "LANES WITH" top --once -i 100ms
ok "also by Prometheus" sh -c "'$tool' top --once --prometheus - |
	grep -q 'tcpx_session_lane_messages_total{.*direction=\"rx\"} [1-9]'"
end_work

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
