#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Communicators of NCCL are labels of lanes: tcpx top and its metrics show each, where the tables say
# which it is. $2: the plugin, $3: two processes.
. "$(dirname "$0")/tap.sh"
plugin=$(realpath "$2")
ranks=$(realpath "$3")
export TCPX_NICS=lo

# true_of EXPRESSION: of what tcpx top sees, as python has it (engines, and labels of the first)
true_of() {
	timeout 60 "$tool" top --once -i 50ms --json "$scratch/top.json" >/dev/null || return 1
	python3 -c "
import json, sys
engines = json.load(open(sys.argv[1]))['engines']
labels = [{l['label']: l for l in e['lane_labels']} for e in engines]
def sums(name): return [sum(l[name] for l in of.values()) for of in labels]
if not ($1):
    sys.exit(json.dumps(labels, indent=1))" "$scratch/top.json"
}
begin() {
	rm -f "$scratch/stop"
	start "$scratch/ranks" "$ranks" "$plugin" "$1" "$scratch/stop"
	within 60 grep -qx ready "$scratch/ranks"
}
end() {
	: >"$scratch/stop"
	wait "$started"
	code=$?
	cat "$scratch/ranks"
	return $code
}
metrics() {
	timeout 60 "$tool" top --once --prometheus - >"$scratch/prom"
	grep '^tcpx_lane' "$scratch/prom"
	[ "$(grep -c "^tcpx_lane_messages_total{.*,label=\"comm $1\",direction=\"rx\"} $2\$" "$scratch/prom")" = 2 ]
}
view() {
	timeout 60 "$tool" top --once -i 50ms >"$scratch/view"
	grep -A 3 'LANES OF LABEL' "$scratch/view"
	[ "$(grep -c '^  comm d1ce  *2  *0 .* 3  *3    0+1$' "$scratch/view")" = 2 ]
}

# cannot_listen: the only port that it may use is taken
cannot_listen() {
	python3 -c "
import os, socket, subprocess, sys
s = socket.socket()
s.bind(('', 0))
s.listen()
os.environ['TCPX_PORTS'] = '%d-%d' % ((2 * s.getsockname()[1:]))
sys.exit(subprocess.run(sys.argv[1:]).returncode)" "$ranks" "$plugin" 11 "$scratch/stop" 2>"$scratch/ended"
	code=$?
	cat "$scratch/ended"
	[ $code = 1 ] && grep -q 'process 0 ended with 0x100, process 1 with 0x100' "$scratch/ended"
}

ok "a rank that cannot listen ends with an error" cannot_listen
for version in 11 12; do
	ok "v$version: two processes with two communicators" begin $version
	ok "each is a label of both" within 60 true_of "[sorted(l) for l in labels] == 2 * [['comm d1ce', 'comm dcba9876543210']]"
	ok "with its lanes" true_of "all((l['comm d1ce']['lanes'], l['comm dcba9876543210']['lanes']) == (2, 4) for l in labels)"
	ok "and its messages" true_of "all([l[n]['lane_messages_' + w] for n in sorted(l) for w in ('tx', 'rx')] == [3, 3, 10, 10] for l in labels)"
	ok "a receive waits" true_of "all([l[n]['lane_waiting_' + w] for n in sorted(l) for w in ('tx', 'rx')] == [0, 1, 0, 0] for l in labels)"
	ok "what one sends the other receives" true_of "all(labels[0][n]['lane_bytes_tx'] == labels[1][n]['lane_bytes_rx'] > 0 for n in labels[0])"
	ok "they add up to the session's" true_of "all(sums(n) == [sum(s[n] for s in e['sessions']) for e in engines] for n in ('lanes', 'lane_messages_tx', 'lane_bytes_rx', 'lane_waiting_rx'))"
	ok "the view has them" view
	ok "and the metrics" metrics dcba9876543210 10
	ok "every byte is right" end
done
done_testing
