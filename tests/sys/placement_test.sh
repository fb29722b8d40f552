#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx perf --self --lat --baseline compares like with like. By the kernel's account the two
# measuring threads have a CPU each and no other thread is placed; without the comparison none is.
. "$(dirname "$0")/tap.sh"

json=$scratch/result.json
first=$(python3 -c "import os; print(*sorted(os.sched_getaffinity(0))[:1])")
second=$(python3 -c "import os; print(*sorted(os.sched_getaffinity(0))[:2][-1:])")
cpus="sides: CPU $first and CPU $second"
[ "$first" != "$second" ] || cpus="both sides on CPU $first"

measure() {
	rm -f "$json"
	timeout 60 "$tool" perf --self --lat -b 64 -n 500 --pairs 1 --json "$json" "$@"
}
# Masks of every thread of a run of perf (its process id) and of its server, many times while
# it goes on: those that measure were placed, others never.
watch_masks() {
	python3 - "$1" "$first" "$second" <<'END'
import os, sys
pid, first, second = sys.argv[1:]
free = {os.sched_getaffinity(0).__repr__()}
seen = set()

def masks(p):
    for t in os.listdir("/proc/%s/task" % p):
        name = open("/proc/%s/task/%s/comm" % (p, t)).read().strip()
        yield t == p, name, os.sched_getaffinity(int(t))

def running():
    """Neither gone (perhaps between our looking and our reading) nor a zombie."""
    try:
        return open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

while running():
    try:
        children = open("/proc/%s/task/%s/children" % (pid, pid)).read().split()
        for p, side in [(pid, "client")] + [(c, "server") for c in children]:
            for main, name, mask in masks(p):
                if name.startswith("tcpx-io"):
                    seen.add(("io", repr(mask)))
                elif main:
                    seen.add((side, repr(mask)))
                else:
                    seen.add((side + " raw", repr(mask)))
    except (OSError, ValueError):
        pass
print(sorted(seen))
one = {"client": repr({int(first)}), "server": repr({int(second)}),
       "server raw": repr({int(second)})}
missing = [side for side, mask in one.items() if (side, mask) not in seen]
placed = [m for kind, m in seen if kind == "io" and m not in free]
sys.exit(1 if missing or placed else 0)
END
}
placed_while_running() {
	start "$scratch/run" "$tool" perf --self --lat -b 64 --baseline --duration 2
	watch_masks "$started"
}

ok "the comparison says its CPUs" says "# $cpus" measure --baseline
ok "so does the result" result "$json" "r['placement'] == '$cpus'"
ok "both ends of both ping-pongs are there, and no other thread" placed_while_running
ok "without a comparison nothing is placed" measure
ok "and the result says nothing" result "$json" "'placement' not in r"
if command -v taskset >/dev/null; then
	on_one() {
		timeout 60 taskset -c "$second" "$tool" perf --self --lat -b 64 -n 500 \
			--pairs 1 --baseline
	}
	ok "a single CPU is shared by both" says "# both sides on CPU $second" on_one
fi
done_testing
