#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demonstration: two processes, four NICs between them, 1 GiB, every byte checked.
# As root the processes stand on two emulated hosts; otherwise the NICs are 127.0.k.1. Then the
# third NIC goes down in mid-transfer and up again (without root: its connections are reset).
# Usage: demo.sh [TOOL]; results go beside the tool. Nothing else stays behind.
set -eu

tool=${1:-build/tcpx}
out=$(dirname "$tool")
report=$out/demo-report.html
json=$out/demo.json
fault_json=$out/demo-fault.json
lab=demo$$
server=

finish() {
	code=$?
	trap - EXIT
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
	fi
	[ ! -e "/run/tcpx-lab/$lab.json" ] || "$tool" lab down --name "$lab" || code=5
	rm -f "$out/demo-serve.log"
	exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# perf ARG...: 1 MiB, 32 MiB and 1 GiB, beside plain sockets; the last is the one that counts.
perf() {
	"$@" -b 1M -e 1G -f 32 -w 1 --baseline --pairs 6 --json "$json" --report "$report"
}

# The result itself must say so: 1 GiB, every byte compared, none wrong, four NICs that carried some of it.
verify() {
	python3 - "$json" <<-'END'
	import json, sys
	row = json.load(open(sys.argv[1]))["rows"][-1]
	nics = [n["nic"] for n in row["per_nic"] if n["bytes"] > 0]
	if row["size"] != 1 << 30 or not row["checked"] or row["wrong"] != 0 or len(nics) != 4:
	    sys.exit("demo: %d bytes, %s compared, %s wrong, over NICs %s; wanted 1 GiB, all, none, four"
	             % (row["size"], row.get("compared", 0), row["wrong"], " ".join(nics)))
	END
}

# fault HOW NIC COMMAND...: transfers of 1 GiB for 5 s, and a NIC that is lost meanwhile.
fault() {
	# shellcheck disable=SC2086 # words of a command, or none
	$in_lab python3 "$(dirname "$0")/demo_fault.py" "$@" -b 1G -w 0 --duration 5 --json "$fault_json"
	python3 - "$fault_json" <<-'END'
	import json, sys
	row = json.load(open(sys.argv[1]))["rows"][-1]
	if row["wrong"] != 0 or not row.get("compared"):
	    sys.exit("demo: with a fault %s bytes were wrong, and a share of %s compared"
	             % (row["wrong"], row.get("compared", 0)))
	END
}

rm -f "$json" "$report" "$fault_json"
lab_code=3
in_lab=
if [ "$(id -u)" = 0 ]; then
	lab_code=0
	"$tool" lab up --name "$lab" || lab_code=$?
fi

case $lab_code in
0)
	how="network namespaces"
	"$tool" lab exec --name "$lab" h1 "$tool" serve >"$out/demo-serve.log" 2>&1 &
	server=$!
	perf "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 || {
		code=$?
		cat "$out/demo-serve.log" >&2
		exit $code
	}
	in_lab="$tool lab exec --name $lab h0"
	fault link eth2 "$tool" perf 10.77.0.2
	;;
3)
	how="addresses of the loopback"
	echo "No network namespaces (that needs root): 127.0.0.1 to 127.0.3.1 stand for four NICs."
	perf "$tool" perf --self --nics 127.0.0.1,127.0.1.1,127.0.2.1,127.0.3.1
	fault reset 127.0.2.1 "$tool" perf --self --nics 127.0.0.1,127.0.1.1,127.0.2.1,127.0.3.1
	;;
*)
	exit "$lab_code"
	;;
esac

verify
echo
echo "verified 1 GiB over 4 NICs ($how)"
