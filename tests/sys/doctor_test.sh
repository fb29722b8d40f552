#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx doctor: its findings on this machine and on others, and its explanations.
. "$(dirname "$0")/tap.sh"

doc=$(dirname "$0")/../../docs/errors.md

page_is_what_is_printed() {
	"$tool" doctor --explain all >"$scratch/errors.md" && diff "$doc" "$scratch/errors.md"
}

ok "--explain all is docs/errors.md" page_is_what_is_printed
ok "a class is explained" says "irecvConsumed()" "$tool" doctor --explain corrupt-data
ok "a line of a log is" says "rx-no-cmsg: bytes came" "$tool" doctor --explain "flow 3 rx no cmsg"
ok "a code is" says "TCPX_STALL_MS" "$tool" doctor --explain TCPX_ESTALLED
ok "its number is" says "TCPX_ESTALLED" "$tool" doctor --explain=-1302
ok "a system error is" says "no-way: the address cannot" "$tool" doctor --explain EHOSTUNREACH
ok "without marks of a page" sh -c "! '$tool' doctor --explain stuck | grep -q '[*#]'"
ok "what is not known is refused" exits 2 "$tool" doctor --explain nothing
ok "and what was meant is guessed" says "did you mean 'stuck'" "$tool" doctor --explain stuk

# Another machine: findings, and what cannot be told, with reasons.
mkdir -p "$scratch/m/proc/sys/net/core" "$scratch/m/run/tcpx"
echo 16 >"$scratch/m/proc/sys/net/core/somaxconn"
echo "[1.0] NVRM: Xid (PCI:0000:04:00): 79, pid=1" >"$scratch/m/dmesg"
shape_is_right() {
	"$tool" doctor --root "$scratch/m" --json "$scratch/d.json" >/dev/null
	[ $? = 1 ] && python3 - "$scratch/d.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
c = {x["id"]: x for x in d["checks"]}
assert c["xid"]["status"] == "finding" and c["xid"]["severity"] == "error", c["xid"]
assert "Xid 79" in c["xid"]["evidence"] and c["xid"]["remedy"], c["xid"]
assert c["somaxconn"]["status"] == "finding" and c["somaxconn"]["severity"] == "warning"
assert c["optmem"]["status"] == "unknown" and c["optmem"]["remedy"] is None
assert all(x["evidence"] for x in d["checks"])
by = lambda s: sum(x["status"] == s for x in d["checks"])
assert [d[k] for k in ("ok", "findings", "unknown", "skipped")] == \
    [by(s) for s in ("ok", "finding", "unknown", "skipped")], d
assert d["errors"] + d["warnings"] + d["notes"] == d["findings"]
END
}
# Every check ends, whoever asks, and changes nothing that could be asked again.
this_machine_is_judged() {
	"$tool" doctor --json "$scratch/here.json" --nics lo --peer 127.0.0.1:9 >/dev/null
	[ $? -le 1 ] && python3 -c "
import json, sys
checks = json.load(open(sys.argv[1]))['checks']
assert len(checks) > 50 and all(c['evidence'] for c in checks)" "$scratch/here.json"
}
# The default has findings first, then a line for each group; nothing is wider than 80 columns.
findings_stand_first() {
	"$tool" doctor --root "$scratch/m" >"$scratch/view"
	[ $? = 1 ] || return
	grep -E "^(error|warning|note|network) " "$scratch/view" | cut -d" " -f1 | uniq >"$scratch/order"
	[ "$(head -3 "$scratch/order" | tr '\n' ' ')" = "error warning network " ] || return
	! grep -q "^ok  " "$scratch/view" && grep -q "^error    xid " "$scratch/view" || return
	grep -q "^logs  *1 finding" "$scratch/view" || return
	grep -q "^network  .* skipped: " "$scratch/view"
}
all_are_shown() {
	"$tool" doctor --root "$scratch/m" --all >"$scratch/all"
	[ "$(grep -cE '^(ok|error|warning|note|unknown|skipped) +[a-z]' "$scratch/all")" = \
		"$("$tool" doctor --list | wc -l)" ]
}
ok "findings stand first" findings_stand_first
ok "--all shows each check" all_are_shown
ok "in 80 columns" sh -c "! cat '$scratch/view' '$scratch/all' | grep -E '^.{81,}'"
ok "the JSON of another machine" shape_is_right
ok "an error ends with 1" exits 1 "$tool" doctor --root "$scratch/m" --only xid
ok "a note does not" exits 0 "$tool" doctor --root "$scratch/m" --only privileges
ok "each has a severity" says "xid          error" "$tool" doctor --list
ok "this machine" this_machine_is_judged
ok "a refused port is named" says "127.0.0.1 port 9 is refused" \
	"$tool" doctor --only peer-paths --nics 127.0.0.1 --peer 127.0.0.1:9

# Counts of the GPUs' driver, by a library of the same name.
nvml() {
	FAKENVML=$1 LD_LIBRARY_PATH=$NET_FAKE_DIR "$tool" doctor --only ecc
}
if [ -e "${NET_FAKE_DIR:-/none}/libnvidia-ml.so.1" ]; then
	ok "GPUs without errors" says "none of 2 GPUs by their driver" joined \
		nvml "00000000:04:00.0 1 0 0 0;00000000:0A:00.0 1 0 0 0"
	ok "a GPU with errors" says "GPU 0000:0a:00.0: 3 uncorrected errors" \
		nvml "00000000:04:00.0 1 0 0 0;00000000:0A:00.0 1 3 0 0"
	ok "is an error" exits 1 nvml "00000000:04:00.0 1 3 0 0"
	ok "a row to be replaced" says "GPU 10000:04:00.0: a bad row is in use" \
		nvml "00010000:04:00.0 1 0 1 0"
	ok "no row left" says "no row is left" nvml "00000000:04:00.0 1 0 1 1"
	no_gpu_is_named() {
		"$@" >"$scratch/ecc"
		! grep "GPU [01]" "$scratch/ecc"
	}
	ok "GPUs that do not count" no_gpu_is_named nvml "00000000:04:00.0 0 9 1 1"
	ok "no driver" no_gpu_is_named env LD_LIBRARY_PATH="$NET_FAKE_DIR" "$tool" doctor --only ecc
else
	count=$((count + 1))
	echo "ok $count - counts of the GPUs' driver # SKIP NET_FAKE_DIR has no such library"
fi
done_testing
