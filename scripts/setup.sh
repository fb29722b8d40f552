#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian or Ubuntu packages that are missing, says which, and does nothing
# when none is. What only some tests look at may stay missing: those tests say so.
# Usage: setup.sh [build|check]     (check needs what build needs, and more)
set -u

missing=
wanted=

has() {
	command -v "$1" >/dev/null 2>&1
}

# there FILE...: a glob of the caller's has found something.
there() {
	[ -e "$1" ]
}

pc() {
	has pkg-config && pkg-config --exists "$1"
}

# need PACKAGE PROBE...: it must be here afterwards. like: it would be good.
need() {
	package=$1
	shift
	"$@" || missing="$missing $package"
}
like() {
	package=$1
	shift
	"$@" || wanted="$wanted $package"
}

# Installed for the distribution's python3, whichever is the first here.
module() {
	there "/usr/lib/python3/dist-packages/$1/__init__.py"
}

look_for_build() {
	need make has make
	need gcc has cc
	need libc6-dev there /usr/include/stdlib.h
	need meson has meson
	need ninja-build has ninja
	need pkg-config has pkg-config
	need libjansson-dev pc jansson
	need python3 has python3
}

look_for_check() {
	need libcmocka-dev pc cmocka
	like g++ has c++
	like clang has clang
	like clang-runtime there /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
	like clang-format has clang-format
	like iproute2 has ip
	like nftables there /usr/sbin/nft
	like strace has strace
	like zsh has zsh
	like fish has fish
	like libssl3 there /usr/lib/*/libssl.so.3
	like shellcheck has shellcheck
	like man-db has man
	like openmpi-bin has mpirun
	like python3-yaml module yaml
	like python3-numpy module numpy
	like mypy has mypy
	like python3-setuptools module setuptools
	like python3-wheel module wheel
	like python3-pip module pip
}

look() {
	missing=
	wanted=
	look_for_build
	[ "$what" = build ] || look_for_check
}

# The clang runtime has moved from package to package; the first that exists will do.
clang_runtime() {
	version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
	for name in libclang-rt-dev "libclang-rt-$version-dev" "libclang-common-$version-dev"; do
		if apt-cache show "$name" >/dev/null 2>&1; then
			echo "$name"
			return
		fi
	done
}

install() {
	list=
	for package; do
		[ "$package" != clang-runtime ] || package=$(clang_runtime)
		[ -z "$package" ] || list="$list $package"
	done
	[ -n "$list" ] || return 0
	# shellcheck disable=SC2086 # a list of names
	as_root apt-get install -q -y --no-install-recommends $list
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

what=${1:-build}
case $what in
build | check) ;;
*)
	echo "usage: setup.sh [build|check]" >&2
	exit 2
	;;
esac

look
[ -n "$missing$wanted" ] || exit 0

if ! has apt-get; then
	echo "setup: this is not Debian or Ubuntu; please install what these packages hold:$missing$wanted"
elif [ "$(id -u)" != 0 ] && ! has sudo; then
	echo "setup: not root, and there is no sudo; please install:$missing$wanted"
else
	echo "setup: installing$missing$wanted"
	as_root apt-get update -q || echo "setup: apt-get update failed"
	# apart: a name that is not known here must not keep the others away
	# shellcheck disable=SC2086 # lists of names
	install $missing || echo "setup: apt-get failed for:$missing"
	# shellcheck disable=SC2086
	install $wanted || echo "setup: apt-get failed for:$wanted"
	look
fi

[ -z "$wanted" ] || echo "setup: some tests will be skipped, without:$wanted"
if [ -n "$missing" ]; then
	echo "setup: cannot go on without:$missing" >&2
	exit 1
fi
