#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx doctor on NIXL: where it is found, and what is said of a plugin that does not load.
. "$(dirname "$0")/tap.sh"

unset NIXL_PLUGIN_DIR VIRTUAL_ENV CONDA_PREFIX PYTHONPATH
export HOME="$scratch"
plugin=$(dirname "$tool")/src/nixl/libplugin_TCPX.so
wheel=lib/python3.11/site-packages/.nixl_cu12.mesonpy.libs/plugins
there=$scratch/there
version=$("$tool" --version | grep -o '[0-9.]*[0-9]' | head -1)
mkdir -p "$scratch/none" "$there" "$scratch/venv/$wheel" "$scratch/tree/usr/$wheel" \
	"$scratch/tree/opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu/plugins"
: >"$scratch/tree/usr/$wheel/libplugin_TCPX.so"
: >"$scratch/tree/opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu/libnixl.so"

check() {
	"$tool" doctor --only "$@"
}
# made OUTPUT ARGS...: a library of the C source that comes in
made() {
	out=$1
	shift
	cc -x c -shared -fPIC -o "$out" - "$@" 2>"$scratch/cc" || { cat "$scratch/cc"; return 1; }
}
# refused TEXT: the plugin in $there does not load, for this reason, which is an error
refused() {
	NIXL_PLUGIN_DIR=$there check nixl-load >"$scratch/said"
	code=$?
	cat "$scratch/said"
	[ $code = 1 ] && tr -s ' \n' ' ' <"$scratch/said" | grep -F "$1"
}
no_nixl() {
	for one in nixl nixl-file nixl-load; do
		check $one --root "$scratch/none" | grep "^skipped *$one" || return
	done
	check nixl --root "$scratch/none" | grep -x " *no NIXL"
}
# a wheel's, and one built from source, which lacks our file
other_machine() {
	check nixl --root "$scratch/tree" --json "$scratch/json" && grep -F "nixl_cu12: /usr/$wheel" "$scratch/json" &&
		grep -F "libnixl.so: /opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu/plugins" "$scratch/json"
}
lacking() {
	check nixl-file --root "$scratch/tree" --json "$scratch/json" &&
		grep -F "none in /opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu/plugins" "$scratch/json" &&
		! grep -F nixl_cu12 "$scratch/json" && ! grep -F "one is in" "$scratch/json" || return
	mkdir -p "$scratch/tree/usr/lib/x86_64-linux-gnu/nixl"
	: >"$scratch/tree/usr/lib/x86_64-linux-gnu/nixl/libplugin_TCPX.so"
	check nixl-file --root "$scratch/tree" --json "$scratch/json" &&
		grep -F "one is in /usr/lib/x86_64-linux-gnu/nixl" "$scratch/json"
}
named_and_missing() {
	exits 1 env "NIXL_PLUGIN_DIR=$scratch/gone" "$tool" doctor --only nixl >"$scratch/said"
	code=$?
	tr -s ' \n' ' ' <"$scratch/said" | grep -F "NIXL_PLUGIN_DIR: $scratch/gone is no folder" || return
	[ $code = 0 ] && exits 0 env "NIXL_PLUGIN_DIR=$there" "$tool" doctor --only nixl
}
not_a_library() {
	echo text >"$there/libplugin_TCPX.so"
	refused "too short"
}
no_entry() {
	echo 'int x;' | made "$there/libplugin_TCPX.so" && refused "it has no nixl_plugin_init()"
}
other_interface() {
	echo 'static int t[14] = { 7 }; void *nixl_plugin_init(void) { return t; }' |
		made "$there/libplugin_TCPX.so" && refused "its interface is not version 1"
}
dies() {
	echo '#include <signal.h>
		void *nixl_plugin_init(void) { raise(SIGKILL); return 0; }' |
		made "$there/libplugin_TCPX.so" && refused "by signal 9"
}
missing_library() {
	echo 'int gone(void) { return 0; }' | made "$there/libgone.so" &&
		echo 'int gone(void); int x(void) { return gone(); }' |
		made "$there/libplugin_TCPX.so" -L"$there" -Wl,--no-as-needed -lgone &&
		rm "$there/libgone.so" && refused "libgone.so: cannot open shared object file"
}
missing_version() {
	echo 'OLD_2.0 { global: old; };' >"$scratch/map"
	echo 'OLD_1.0 { global: old; };' >"$scratch/map1"
	echo 'int old(void) { return 0; }' | made "$there/libold.so" "-Wl,--version-script=$scratch/map" &&
		echo 'int old(void); int x(void) { return old(); }' |
		made "$there/libplugin_TCPX.so" -L"$there" -lold -Wl,-rpath,"$there" &&
		echo 'int old(void) { return 0; }' |
		made "$there/libold.so" "-Wl,--version-script=$scratch/map1" && refused "OLD_2.0"
}
# in a virtual environment, as NIXL's users have it
ours() {
	cp "$plugin" "$scratch/venv/$wheel/libplugin_TCPX.so"
	export VIRTUAL_ENV="$scratch/venv"
	says "TCPX $version" check nixl-load
}
linked_as_ucx() {
	mkdir "$scratch/ucx" && ln -s "$plugin" "$scratch/ucx/libplugin_UCX.so" &&
		says "UCX $version" env "NIXL_PLUGIN_DIR=$scratch/ucx" "$tool" doctor --only nixl-load
}
by_a_check() {
	says "nixl-plugin: NIXL does not find" "$tool" doctor --explain nixl-load
}

ok "no NIXL, no question" no_nixl
ok "another machine's are found" other_machine
ok "a folder without our plugin is named, and where one was installed" lacking
ok "whose file is not loaded" says "is not this machine" check nixl-load --root "$scratch/tree"
ok "a folder that is named and lacks it" says "none in $there" env "NIXL_PLUGIN_DIR=$there" "$tool" \
	doctor --only nixl-file
ok "that is a note" exits 0 env "NIXL_PLUGIN_DIR=$there" "$tool" doctor --only nixl-file
ok "one that is named and is not there is an error" named_and_missing
ok "a file that is no library" not_a_library
if command -v cc >/dev/null; then
	ok "one without the entry point" no_entry
	ok "one of another interface" other_interface
	ok "one that ends its process" dies
	ok "a missing library is named" missing_library
	ok "a missing version is named" missing_version
else
	count=$((count + 1))
	echo "ok $count - what a plugin lacks # SKIP no cc here"
fi
if [ -e "$plugin" ]; then
	ok "ours loads" ours
	ok "a link to it of UCX's name, too" linked_as_ucx
else
	count=$((count + 1))
	echo "ok $count - ours loads # SKIP it was not built"
fi
ok "a check's name is explained" by_a_check
done_testing
