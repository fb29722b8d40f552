#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every code block of README runs as printed: on two lab hosts with the names that the text gives
# them, with what `make install` installs, and with the software driver for GPUs.
# `make check` is this run; `make` and `make install` with missing packages are tests/long/fresh.sh.
. "$(dirname "$0")/tap.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(dirname "$tool")
need_root
command -v pkg-config >/dev/null || skip_all "needs pkg-config"
lab_up -n 2

blocks=$scratch/blocks
mkdir "$blocks" "$scratch/bin"
python3 "$(dirname "$0")/blocks.py" "$root/README.md" "$blocks" >"$scratch/names"
cat "$scratch/names"
mkdir "$scratch/node0" "$scratch/node1"
ln -s "$root/examples" "$scratch/node0"
ln -s "$root/examples" "$scratch/node1"
cp /etc/hosts "$scratch/hosts"
printf '10.77.0.1 node0\n10.77.0.2 node1\n' >>"$scratch/hosts"

# installed as by `sudo make install`, under a folder of our own
DESTDIR="$scratch/root" meson install -C "$build" --no-rebuild --quiet >"$scratch/install" 2>&1
prefix=$(dirname "$(dirname "$(find "$scratch/root" -path '*/bin/tcpx' | head -1)")")
pc=$(dirname "$(find "$scratch/root" -name tcpx-p2p.pc | head -1)")
cat >"$scratch/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
# A program that links a sanitized library is built with the sanitizer.
sanitize=
if nm -D "$(dirname "$pc")/libtcpx-p2p.so" | grep -q __asan_init; then
	sanitize=-fsanitize=address
fi
cat >"$scratch/bin/cc" <<END
#!/bin/sh
exec $(command -v cc) $sanitize "\$@"
END
chmod +x "$scratch/bin/sudo" "$scratch/bin/cc"
# With leak detection no block may be left when it ends: no pointer in memory excuses it.
no_leaks=use_globals=0:use_stacks=0:use_registers=0:use_tls=0:print_suppressions=0
no_leaks=$no_leaks:suppressions=$root/examples/leaks.supp

# at NODE BLOCK [NAME=VALUE...]: types there what the block says for it, in a folder that is that
# machine's, with these variables.
at() {
	node=$1
	sed -n "s/^$1\\$ //p" "$blocks/$2" >"$scratch/$1.typed"
	shift 2
	( cd "$scratch/$node" && on "h${node#node}" unshare --mount env \
		PATH="$scratch/bin:$prefix/bin:$PATH" \
		PKG_CONFIG_PATH="$pc" PKG_CONFIG_SYSROOT_DIR="$scratch/root" \
		LD_LIBRARY_PATH="$(dirname "$pc")" "$@" \
		sh -ec 'mount --bind "$1" /etc/hosts; . "$2"' sh "$scratch/hosts" \
		"$scratch/$node.typed" )
}
# block WORD: the block that has it; each WORD below is in one.
block() {
	grep -lF -- "$1" "$blocks"/*.* | xargs -n1 basename
}

two_machines() {
	b=$(block "tcpx perf node1")
	start "$scratch/serve" at node1 "$b"
	within 60 listens h1 || { cat "$scratch/serve"; return 1; }
	at node0 "$b" | tee "$scratch/perf" && grep -q GB/s "$scratch/perf"
}
server_ends() {
	for pid in $(lab_pids); do
		kill "$pid"
	done
	within 60 no_one_listens
}
no_one_listens() {
	! listens h1
}
# push NODE [NAME=VALUE]: the program there, which gives back all that it takes.
push() {
	at "$1" "$(block "./push")" TCPX_STATS="$scratch/push" ASAN_OPTIONS=fast_unwind_on_malloc=0 \
		LSAN_OPTIONS="$no_leaks" ${2+"$2"}
}
all_closed() {
	[ -z "$(find "$scratch/push" -type s)" ] || { echo "an engine has not been closed"; return 1; }
}
nobody_listens() {
	exits 1 push node0 TCPX_CONNECT_MS=300 >"$scratch/alone" 2>&1
	code=$?
	cat "$scratch/alone"
	[ $code = 0 ] && tail -n 1 "$scratch/alone" | grep -q "connection refused" && all_closed
}
program() {
	start "$scratch/received" push node1
	within 60 listens h1 || { cat "$scratch/received"; return 1; }
	push node0 || return
	wait "$started" && grep -qx "from node0" "$scratch/received" && all_closed || {
		cat "$scratch/received"
		return 1
	}
}
# the page's lines are the program's, in its order
excerpt() {
	python3 - "$root/examples/push.c" "$blocks/$(block tcpx_peer_find)" <<'END'
import sys
program, page = ([line.strip() for line in open(name)] for name in sys.argv[1:])
left = iter(program)
for line in page:
    if not line.startswith("/*"):
        assert line in left, line + ": not in examples/push.c, or in another order"
END
}
no_warnings() {
	cat "$scratch/received"
	[ "$(grep -vc ' warning: the use of ' "$scratch/received")" = 1 ] # the sanitizer's
}
two_gpus() {
	# shellcheck disable=SC1090
	( cd "$scratch" && PATH="$build:$PATH" && export FAKECUDA_DEVICES=2 "TCPX_CUDA_LIBRARY=${FAKECUDA_LIBRARY:?}" &&
		. "$blocks/$(block cuda:1)" ) | tee "$scratch/gpus" && grep -q GB/s "$scratch/gpus"
}
# Types a plugin's block, as installed, and asks that nothing of it is left; the job only says which net it is given.
plugin_block() {
	printf '#!/bin/sh\necho "0[0] -> 1[0] [send] via NET/$NCCL_NET/0 of $NCCL_NET_PLUGIN"\n' >"$scratch/bin/torchrun"
	chmod +x "$scratch/bin/torchrun"
	sed "s#/usr/local/lib#$(dirname "$pc")#" "$blocks/$(block "$1")" >"$scratch/plugin"
	env PATH="$scratch/bin:$prefix/bin:$PATH" LD_LIBRARY_PATH="$(dirname "$pc")" LD_PRELOAD="$asan" \
		ASAN_OPTIONS=detect_leaks=0 sh -c '. "$1"; env | grep -E "^(NCCL_NET|NIXL_PLUGIN)"' \
		sh "$scratch/plugin" >"$scratch/said" 2>&1 # whose last command finds nothing
	[ $? = 1 ] || { cat "$scratch/said"; return 1; }
}
nccl() {
	plugin_block 'tcpx doctor --only nccl' && grep -q '^ok  *nccl' "$scratch/said" &&
		grep -q 'via NET/tcpx-p2p/0 of tcpx-p2p$' "$scratch/said"
}
nixl() {
	plugin_block 'tcpx doctor --only nixl-load' && grep -q '^ok  *nixl-load' "$scratch/said"
}
emulator() {
	mkdir "$scratch/tree" && ln -s "$build" "$scratch/tree/build"
	# shellcheck disable=SC1090
	( cd "$scratch/tree" && . "$blocks/$(block emu.so)" ) | tee "$scratch/emulator" &&
		grep -q GB/s "$scratch/emulator"
}
make_targets() {
	for text in "$(block 'make demo')" "$(block 'sudo make install')"; do
		sed 's/ *#.*//; s/^sudo //' "$blocks/$text"
	done | while read -r line; do
		$line -n -C "$root" "BUILD=$build" >/dev/null || { echo "$line"; exit 1; }
	done
}
# nothing was added to the page that no test above runs
all_of_them() {
	for known in "$(block 'make demo')" "$(block 'sudo make install')" "$(block 'tcpx perf node1')" \
		"$(block cuda:1)" "$(block ./push)" "$(block emu.so)" "$(block 'only nccl')" "$(block nixl-load)" "$(block tcpx_peer_find)"; do
		echo "$known"
	done | sort >"$scratch/run"
	sort "$scratch/names" | diff - "$scratch/run"
}

ok "make's targets are there" make_targets
ok "two machines" two_machines
ok "the server of two machines ends" server_ends
ok "your program, while nobody listens" nobody_listens
ok "your program" program
ok "the page shows that program" excerpt
ok "neither program prints anything else" no_warnings
ok "two GPUs of one machine" two_gpus
ok "NCCL's lines" nccl
ok "NIXL's lines" nixl
ok "the emulator" emulator
ok "no block is missing here" all_of_them
done_testing
