#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel is built by setuptools alone, installed without an index, and works.
Usage: wheel_test.py BUILD"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1))
SANITIZED = "LD_PRELOAD" in os.environ
MOVE = """
import tcpx
a, b = tcpx.Engine("a"), tcpx.Engine("b")
target = bytearray(100000)
region = b.register(target, tcpx.REMOTE_WRITE)
peer, there = a.add_peer(b.metadata()), a.import_region(region.export())
peer.write(a.register(b"x" * 100000), there).wait(120)
assert target == b"x" * 100000
print(tcpx.__file__, tcpx._abi.C._name)
"""


def builder():
    """A python3 with what makes wheels; this one first."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import setuptools, wheel.bdist_wheel, pip"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


PYTHON = builder()


@unittest.skipUnless(PYTHON, "no python3 with setuptools, wheel and pip")
@unittest.skipUnless(shutil.which("objdump"), "no objdump")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        place = cls.place = cls.scratch.name
        cls.site = os.path.join(place, "site")
        env = dict(os.environ, BUILD=BUILD)
        env.pop("PYTHONPATH", None)
        env.pop("PYTHON_TCPX_LIBRARY", None)
        cls.env = dict(env, PYTHONPATH=cls.site)
        made = subprocess.run(
            [PYTHON, os.path.join(ROOT, "python/setup.py"), "-q", "build", "-b", place + "/build",
             "egg_info", "-e", place, "bdist_wheel", "-b", place + "/bdist", "-d", place + "/dist"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert made.returncode == 0, made.stdout
        cls.wheel, = glob.glob(place + "/dist/*.whl")
        put = subprocess.run(
            [PYTHON, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "-q",
             "--disable-pip-version-check", "--root-user-action=ignore", "--target", cls.site,
             cls.wheel], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        assert put.returncode == 0, put.stdout

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_python(self, *words, **env):
        return subprocess.run([sys.executable] + list(words), cwd=self.place, text=True,
                              env=dict(self.env, **env), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)

    def test_its_name_says_what_it_runs_on(self):
        system = r"linux" if SANITIZED else r"manylinux_2_34"
        self.assertRegex(os.path.basename(self.wheel),
                         r"^tcpx_p2p-[\d.]+-py3-none-%s_\w+\.whl$" % system)

    def test_it_has_its_licence_and_a_description(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist() if name.endswith(("/LICENSE", "/METADATA"))]
            texts = {os.path.basename(name): wheel.read(name).decode() for name in names}
        with open(ROOT + "/LICENSE", encoding="utf-8") as licence:
            self.assertEqual(texts["LICENSE"], licence.read())
        self.assertIn("# Python", texts["METADATA"])
        self.assertNotIn(".md)", texts["METADATA"])

    def test_no_file_needs_a_newer_libc(self):
        files = glob.glob(self.site + "/tcpx/lib/*")
        self.assertTrue(files)
        for path in files:
            table = subprocess.run(["objdump", "-T", path], check=True, stdout=subprocess.PIPE,
                                   text=True).stdout
            versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", table)]
            self.assertTrue(versions and max(versions) <= (2, 34), (path, max(versions)))

    def test_installed_it_moves_bytes_by_its_own_library(self):
        done = self.run_python("-c", MOVE)
        self.assertEqual(done.returncode, 0, done.stdout)
        for path in done.stdout.split():
            self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(self.site)), path)
        self.assertTrue(os.path.exists(self.site + "/tcpx/py.typed"))

    def test_the_nixl_plugin_is_linked_and_removed(self):
        if not os.path.exists(BUILD + "/src/nixl/libplugin_TCPX.so"):
            self.skipTest("the plugin was not built")
        folder = self.site + "/.nixl_cu12.mesonpy.libs/plugins"
        os.makedirs(folder)
        link = folder + "/libplugin_TCPX.so"
        for _ in range(2):
            done = self.run_python("-m", "tcpx", "nixl", "--install")
            self.assertEqual((done.returncode, os.path.exists(link)), (0, True), done.stdout)
        self.assertEqual(self.run_python("-m", "tcpx", "nixl", "--remove").returncode, 0)
        self.assertFalse(os.path.lexists(link))
        with open(link, "wb"):
            pass  # a file of somebody else's
        done = self.run_python("-m", "tcpx", "nixl", "--install")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no link", done.stdout)
        self.assertEqual(self.run_python("-m", "tcpx", "nixl", "--remove").returncode, 0)
        self.assertTrue(os.path.exists(link))
        shutil.rmtree(os.path.dirname(folder))
        done = self.run_python("-m", "tcpx", "nixl", "--install", NIXL_PLUGIN_DIR="")
        self.assertIn("no NIXL is installed", done.stdout)
        done = self.run_python("-m", "tcpx", "nixl", "--install", NIXL_PLUGIN_DIR=folder + "/none")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "tcpx: NIXL_PLUGIN_DIR names %s/none, which is no folder\n" % folder))

    def test_commands_that_lack_something_say_so(self):
        done = self.run_python("-m", "tcpx", "perf", PATH=self.place)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no command tcpx in PATH", done.stdout)
        done = self.run_python("-m", "tcpx", "fly")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stdout)

    def test_the_nccl_plugin_is_named(self):
        if not os.path.exists(BUILD + "/src/nccl/libnccl-net-tcpx-p2p.so"):
            self.skipTest("the plugin was not built")
        done = self.run_python("-m", "tcpx", "nccl")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(os.path.realpath(done.stdout.strip()), os.path.realpath(
            self.site + "/tcpx/lib/libnccl-net-tcpx-p2p.so"))
        self.assertTrue(os.path.exists(self.site + "/tcpx/lib/libnccl-tuner-tcpx-p2p.so"))

    def test_perf_runs_the_command_of_the_machine(self):
        with open(self.place + "/tcpx", "w", encoding="utf-8") as tool:
            tool.write("#!/bin/sh\necho ran \"$@\"\n")
        os.chmod(self.place + "/tcpx", 0o755)
        done = self.run_python("-m", "tcpx", "perf", "host", "--size", "1M",
                               PATH=self.place + ":" + os.environ["PATH"])
        self.assertEqual((done.returncode, done.stdout), (0, "ran perf host --size 1M\n"))


if __name__ == "__main__":
    unittest.main()
