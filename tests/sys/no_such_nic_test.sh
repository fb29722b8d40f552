#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A NIC that does not exist: an error that names it and lists the existing ones.
. "$(dirname "$0")/tap.sh"

perf() {
	timeout 20 "$tool" perf --self -b 1M --nics "$1"
}
fails() {
	perf "$1"
	got=$?
	echo "exit code $got"
	[ "$got" != 0 ] && [ "$got" -lt 124 ]
}
for nic in =nosuch0 nosuch 192.0.2.77; do
	ok "$nic is refused" fails "$nic"
	ok "$nic is named" says "${nic#=}" perf "$nic"
done
ok "what there is is told" says "lo" perf =nosuch0
done_testing
