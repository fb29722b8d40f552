# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel, with what `make` built inside: the library, and the plugins that are there.

    cd python && python3 setup.py bdist_wheel        BUILD=DIR: not ../build

A wheel that keeps to manylinux_2_34 is named so; any other is named for this machine alone.
"""
import os
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
LIBRARY = "src/lib/libtcpx-p2p.so.0"
FILES = [LIBRARY, "src/nixl/libplugin_TCPX.so", "src/nccl/libnccl-net-tcpx-p2p.so",
         "src/nccl/libnccl-tuner-tcpx-p2p.so"]
GLIBC = (2, 34)
ALLOWED = r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so\.\d|ld-linux.*"


def built():
    """The files for the wheel; the library must be there."""
    if not os.path.exists(os.path.join(BUILD, LIBRARY)):
        sys.exit("no %s in %s: run make, or name the build folder: BUILD=DIR" % (LIBRARY, BUILD))
    return [path for path in (os.path.join(BUILD, name) for name in FILES) if os.path.exists(path)]


def objdump(option, path):
    return subprocess.run(["objdump", option, path], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def strangers(path):
    """What the file needs that manylinux_2_34 does not promise."""
    needed = re.findall(r"NEEDED +(\S+)", objdump("-p", path))
    versions = set(re.findall(r"\bGLIBC_(\d+)\.(\d+)", objdump("-T", path)))
    return [name for name in needed if not re.fullmatch(ALLOWED, name)] + \
        ["GLIBC_%s.%s" % v for v in versions if (int(v[0]), int(v[1])) > GLIBC]


class WithLibrary(build_py):
    """Puts the files that `make` built beside the modules."""

    def run(self):
        super().run()
        folder = os.path.join(self.build_lib, "tcpx", "lib")
        os.makedirs(folder, exist_ok=True)
        for path in built():
            copy = os.path.join(folder, os.path.basename(path))
            shutil.copyfile(path, copy)
            os.chmod(copy, 0o755)
            subprocess.run(["strip", "--strip-unneeded", copy], check=True)


class Wheel(bdist_wheel):
    """Any Python 3, on the machines that its files run on."""

    def get_tag(self):
        strange = sorted({name for path in built() for name in strangers(path)})
        if strange:
            print("not for manylinux_%d_%d:" % GLIBC, " ".join(strange), file=sys.stderr)
        system = "linux" if strange else "manylinux_%d_%d" % GLIBC
        return "py3", "none", "%s_%s" % (system, platform.machine())


class Binary(Distribution):
    """Its files are for one kind of machine."""

    def has_ext_modules(self):
        return True


with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as meson:
    VERSION = re.search(r"version: '([^']+)'", meson.read()).group(1)
with open(os.path.join(ROOT, "docs/python.md"), encoding="utf-8") as page:
    # its links lead to pages that the wheel has not
    TEXT = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", page.read())
os.chdir(os.path.dirname(os.path.abspath(__file__)))
setup(name="tcpx-p2p", version=VERSION, license="Apache-2.0", python_requires=">=3.8",
      description="Moves memory of hosts and GPUs between machines over plain TCP",
      long_description=TEXT, long_description_content_type="text/markdown",
      packages=["tcpx"], package_data={"tcpx": ["py.typed"]}, distclass=Binary,
      cmdclass={"build_py": WithLibrary, "bdist_wheel": Wheel})
