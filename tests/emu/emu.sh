# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Common parts of the tests of whole commands over the emulator: two NICs that belong to a GPU
# each, the GPUs' driver in software, both ends of a measurement. Sourced after tap.sh.

# NICs of loopback addresses: "127.0.1.1=127.0.1.1,gpus=0;...", and their list
emu_nics() {
	TCPX_EMU_NICS=$1
	nics=$(printf '%s' "$1" | sed 's/=[^;]*;*/,/g; s/,$//')
	export TCPX_EMU_NICS
}

emu_nics "127.0.1.1=127.0.1.1,gpus=0;127.0.2.1=127.0.2.1,gpus=1"
export TCPX_MAP="gpu0=127.0.1.1;gpu1=127.0.2.1" TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY"
export TCPX_PLUGIN_PATH="$EMU_LIBRARY" NCCL_DYNAMIC_CHUNK_SIZE=524288 NCCL_NSOCKS_PERTHREAD=4
export TCPX_DEBUG=WARN TCPX_PROVIDER=tcpx
unset TCPX_RELAY TCPX_EMU_FAULT TCPX_EMU_MODE UCCL_TCPX_NUM_CHANNELS

# perf OPTIONS...: both ends of a measurement; all it said in $scratch/perf
perf() {
	timeout 120 "$tool" perf --self -v --nics "$nics" --peer-nics "$nics" -b 4M -e 4M -n 3 \
		-w 1 "$@" >"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf"
	return $code
}

# gpus OPTIONS...: between memory of GPU 0 on either side
gpus() {
	perf --mem cuda:0 --peer-mem cuda:0 "$@"
}

# has TEXT...: what perf() said has each (extended expressions)
has() {
	for text; do
		grep -qE -- "$text" "$scratch/perf" || { echo "no: $text"; return 1; }
	done
}

# happened FAULT;FAULT...: each in at least one of perf()'s two processes; who ends by itself says if not
happened() {
	for one in $(printf '%s' "$1" | tr ';' ' '); do
		[ "$(grep -cF "\"$one\" never happened" "$scratch/perf")" -lt 2 ] ||
			{ echo "$one has not happened"; return 1; }
	done
}

# lacks TEXT...
lacks() {
	for text; do
		if grep -qE -- "$text" "$scratch/perf"; then
			echo "there is: $text"
			return 1
		fi
	done
}

# carried NIC...: each of them, and no other
carried() {
	[ "$(grep -cE '^#   [^ ]+ -> [^ ]+ +[0-9.]+ [kMG]?B' "$scratch/perf")" = $# ] ||
		{ echo "not $# NICs"; return 1; }
	for nic; do
		has "^#   $nic -> $nic +[0-9.]+ [kMG]?B"
	done
}

# serve OPTIONS...: a server on this machine, its port in $port, what it says in $scratch/serve
serve() {
	rm -f "$scratch/serve" # an earlier one's port is not this one's
	start "$scratch/serve" "$tool" serve --port 127.0.0.1:0 --nics "$nics" "$@"
	server=$started
	within 60 grep -q "port [0-9]" "$scratch/serve" || { cat "$scratch/serve"; return 1; }
	port=$(sed -n 's/.*: port \([0-9]*\) .*/\1/p' "$scratch/serve")
}

# client OPTIONS...: one measurement with that server
client() {
	timeout 120 "$tool" perf "127.0.0.1:$port" -v --nics "$nics" -b 4M -e 4M -n 3 -w 1 "$@" \
		>"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf"
	return $code
}
