# SPDX-License-Identifier: Apache-2.0
"""python -m tcpx perf ARGS... | nixl --install|--remove | nccl"""
import os
import shutil
import sys
from typing import List

from . import plugins

USAGE = """usage: python -m tcpx COMMAND
  perf ARGS...           measure, by the command tcpx of this machine
  nixl --install         link the NIXL plugin beside the plugins of the installed NIXL
  nixl --remove          remove that link
  nccl                   print the path of the NCCL plugin"""


def perf(arguments: List[str]) -> int:
    """Becomes the command tcpx."""
    tool = shutil.which("tcpx")
    if not tool:
        raise plugins.Missing("no command tcpx in PATH: install it by `make install`")
    os.execv(tool, [tool, "perf"] + arguments)
    return 1


def main(arguments: List[str]) -> int:
    """The exit status: 0, 1 what is asked for is not there, 2 usage."""
    try:
        if arguments[:1] == ["perf"]:
            return perf(arguments[1:])
        if arguments == ["nixl", "--install"]:
            return plugins.nixl_install()
        if arguments == ["nixl", "--remove"]:
            return plugins.nixl_remove()
        if arguments == ["nccl"]:
            print(plugins.own("libnccl-net-tcpx-p2p.so"))
            return 0
    except (plugins.Missing, OSError) as why:
        print("tcpx: %s" % why, file=sys.stderr)
        return 1
    asked = arguments in (["-h"], ["--help"])
    print(USAGE, file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
