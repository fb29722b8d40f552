#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion of commands, options and values, by bash itself; and help of every command.
. "$(dirname "$0")/tap.sh"

"$tool" completion bash >"$scratch/bash" || exit 1
. "$scratch/bash"

# completes WORD... : the last word is the one at the cursor.
completes() {
	COMP_WORDS=(tcpx "$@")
	COMP_CWORD=$#
	_tcpx
	printf '%s\n' "${COMPREPLY[@]}"
}
gives() {
	wanted=$1
	shift
	got=$(completes "$@" | tr '\n' ' ')
	[ "$got" = "$wanted " ] || { echo "got: $got"; return 1; }
}
# Each option that --help names is offered.
options_of() {
	"$tool" "$@" --help | grep -oE '^(  -[a-zA-Z0-9], |      )--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort
}
all_options() {
	options_of "$@" >"$scratch/named"
	completes "$@" -- | sort >"$scratch/offered"
	grep -q . "$scratch/named" && diff "$scratch/named" "$scratch/offered"
}
fits_80() {
	"$tool" "$@" --help >"$scratch/help" && ! grep -E '^.{81,}' "$scratch/help"
}
same_help() {
	"$tool" help "$@" >"$scratch/a" && "$tool" "$@" --help | diff "$scratch/a" -
}

ok "a command" gives "doctor" do
ok "commands that begin alike" gives "top topo" to
ok "a verb" gives "restore" irq re
ok "an option" gives "--baseline" perf --base
ok "an option of a verb" gives "--under-load" irq verify --und
ok "values of an option" gives "write read sendrecv lane" perf --op ""
ok "one that has begun" gives "sendrecv" perf --op s
ok "behind an equals sign, which makes words" gives "sendrecv" perf --op = s
ok "of a short option" gives "tx rx app" pin -r ""
ok "the NICs of this machine" gives "lo" perf --nics lo
: >"$scratch/one.json"
ok "files" gives "$scratch/one.json" report "$scratch/one"
ok "files of an option" gives "$scratch/one.json" perf --json "$scratch/on"
ok "no files where none may be" gives "" perf --iters "$scratch/on"
ok "commands to be helped with" gives "matrix" help mat
ok "shells" gives "zsh" completion z
for words in $(completes "" | grep -v '^help$\|^completion$'); do
	verbs=$(completes "$words" "" | grep -v '^-')
	"$tool" "$words" --help | grep -q VERB || verbs=
	ok "help $words" same_help "$words"
	ok "in 80 columns" fits_80 "$words"
	[ "$verbs" ] || ok "all options of $words" all_options "$words"
	for verb in $verbs; do
		ok "all options of $words $verb" all_options "$words" "$verb"
		ok "help $words $verb" same_help "$words" "$verb"
		ok "in 80 columns" fits_80 "$words" "$verb"
	done
done
ok "the list of commands in 80 columns" sh -c "! '$tool' --help | grep -E '^.{81,}'"
ok "settings by a word of their names" sh -c "'$tool' info --config chunk | grep -q '^TCPX_CHUNK='"
ok "and no others" sh -c "! '$tool' info --config chunk | grep '^TCPX_PORT='"
ok "those that are set" sh -c "[ \"\$(TCPX_CHUNK=64K '$tool' info --set | grep -c '^TCPX_CHUNK=')\" = 1 ]"
ok "a word that no setting has" exits 2 "$tool" info --config nonsense
ln -s "$tool" "$scratch/exe"
start "$scratch/named" "$scratch/exe" serve -p 0 --nics lo
# shellcheck disable=SC2154
ok "a process is called tcpx whatever its file" within 60 grep -qx tcpx "/proc/$started/comm"
ok "-V is --version" sh -c "[ \"\$('$tool' -V)\" = \"\$('$tool' --version)\" ]"
ok "help of what is not there" says "did you mean 'perf'" "$tool" help pref
ok "a shell that is not known is refused" exits 2 "$tool" completion csh
for shell in bash zsh fish; do
	"$tool" completion $shell >"$scratch/script"
	if command -v $shell >/dev/null; then
		ok "$shell reads its script" $shell -n "$scratch/script"
	else
		count=$((count + 1))
		echo "ok $count - $shell reads its script # SKIP no $shell here"
	fi
done
done_testing
