# SPDX-License-Identifier: Apache-2.0
"""What the GPU benchmarks share: our tool, a pair of NCCL processes, rounds, statistics.

Nothing here but Python's own library. GB is 1e9 bytes; sizes are bytes.
"""
import ctypes.util
import glob
import importlib.util
import json
import math
import os
import platform
import select
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# As the best of a hundred settings on machines with two H200s; more channels for both ways.
TUNED = {"NCCL_SOCKET_NTHREADS": "1", "NCCL_NSOCKS_PERTHREAD": "1",
         "NCCL_P2P_NET_CHUNKSIZE": "524288"}
TUNED_UNI = dict(TUNED, NCCL_NCHANNELS_PER_NET_PEER="16", NCCL_MIN_P2P_NCHANNELS="16")
TUNED_BI = dict(TUNED, NCCL_NCHANNELS_PER_NET_PEER="32", NCCL_MIN_P2P_NCHANNELS="32")


class Failed(SystemExit):
    """One measurement could not be made; the text says which and why, and ends a script that does not catch it."""


def size_text(n):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n >= unit and n % unit == 0:
            return "%d %s" % (n // unit, name)
    return "%d B" % n


# ---- statistics: as src/tool/stats.c ----------------------------------------------------------------

def median(v):
    s = sorted(v)
    return (s[(len(s) - 1) // 2] + s[len(s) // 2]) / 2 if s else math.nan


def median_interval(v):
    """The two values that enclose the population's median at 95 % or more; None below 6."""
    s, below, rank = sorted(v), 0.0, 0
    term = 0.5 ** len(s)
    while rank < len(s) // 2:
        below += term
        if 2 * below > 0.05:
            break
        term *= (len(s) - rank) / (rank + 1)
        rank += 1
    return (s[rank - 1], s[len(s) - rank]) if rank else None


# ---- programs -----------------------------------------------------------------------------

class Programs:
    """Where the binaries lie: a build folder, or one folder with all of them."""

    def __init__(self, folder):
        self.folder = folder

    def find(self, name):
        for place in ("", "bench", "tests/gpu", "tests/unit/device", "tests/unit", "tests"):
            path = os.path.join(self.folder, place, name)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
        raise Failed("no program %s below %s: ninja -C %s builds all" % (name, self.folder, self.folder))

    def plugin(self, name="src/nccl/libnccl-net-tcpx-p2p.so"):
        """A plugin of NCCL's. Without its file NCCL would take its sockets, and say so in its log alone."""
        for path in (name, os.path.basename(name)):
            path = os.path.join(os.path.abspath(self.folder), path)
            if os.path.exists(path):
                return path
        raise Failed("no plugin %s: ninja -C %s builds all" % (path, self.folder))


def start_group(cmd, env):
    return subprocess.Popen(cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, stdin=subprocess.DEVNULL, start_new_session=True)


def end_group(p, timeout):
    """(code, stdout, stderr). When time is out, its whole process group ends."""
    try:
        out, err = p.communicate(timeout=timeout)
        return p.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        return -1, out, err + "\nno end after %d s" % timeout


def run_group(cmd, env, timeout):
    return end_group(start_group(cmd, env), timeout)


def our_env(settings=()):
    """Ours runs untuned: no setting of the environment, but those that are asked for."""
    env = {k: v for k, v in os.environ.items()
           if k == "TCPX_CUDA_LIBRARY" or not k.startswith(("TCPX_", "UCCL_TCPX_", "NCCL_"))}
    env.update(settings)
    return env


def uncompared(rows, words):
    """Why what `tcpx perf` with these words moved does not count; "": all was compared, or by the
    clock and of latency a part."""
    if not rows:
        return "nothing was measured"
    if "-c" in words:
        return ""
    part = "--lat" in words or "--duration" in words
    if all(row.get("compared", 0) > 0 if part else row["checked"] for row in rows):
        return ""
    return "bytes were not compared"


def trouble(rows, words):
    """The same where a wrong byte is the end of a script, too."""
    wrong = sum(row["wrong"] + row.get("baseline_wrong", 0) for row in rows)
    return "%d wrong bytes" % wrong if wrong else uncompared(rows, words)


class Tcpx:
    """`tcpx perf --self` between two places: "cuda:0" and "cuda:1", or "host"."""

    def __init__(self, programs, near, far, commands=None):
        self.programs = programs
        self.tool = programs.find("tcpx")
        self.near, self.far = near, far
        self.commands = [] if commands is None else commands  # each that was run, once
        self.started = None

    def _command(self, args, settings, mem):
        cmd = [self.tool, "perf", "--self"] + [str(a) for a in args]
        if mem and self.near != "host":
            cmd += ["--mem", self.near, "--peer-mem", self.far]
        words = " ".join(["%s=%s" % s for s in dict(settings).items()] + ["tcpx"] + cmd[1:])
        if words not in self.commands:
            self.commands.append(words)
        return cmd + ["--json", "-"]

    @staticmethod
    def _rows(cmd, rc, out, err):
        try:
            rows = json.loads(out)["rows"]
        except (ValueError, KeyError):
            rows = []
        if not rows or (rc and not sum(row.get("wrong", 0) for row in rows)):
            raise Failed("%s: exit code %d: %s" % (" ".join(cmd[1:-2]), rc,
                                                   " | ".join(err.strip().split("\n")[-4:])))
        if uncompared(rows, cmd):
            raise Failed("%s: %s" % (" ".join(cmd[1:-2]), uncompared(rows, cmd)))
        return rows

    def perf(self, args, settings=(), timeout=90, mem=True):
        """The rows of one run; @mem False: host memory whatever the places are."""
        cmd = self._command(args, settings, mem)
        return self._rows(cmd, *run_group(cmd, our_env(settings), timeout))

    def unpack(self, timeout=60):
        """The copy kernels alone: the object that bench/unpack writes."""
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            cmd = [self.programs.find("unpack"), "--json", f.name]
            rc, _, err = run_group(cmd, our_env(), timeout)
            text = f.read()
        try:
            return json.loads(text)
        except ValueError:
            raise Failed("unpack: exit code %d: %s" % (rc, " | ".join(
                err.strip().split("\n")[-4:]))) from None

    def start(self, args, settings=()):
        """A run that goes on beside others until finish()."""
        cmd = self._command(args, settings, True)
        self.started = cmd, start_group(cmd, our_env(settings))

    def finish(self, timeout=90):
        cmd, process = self.started
        return self._rows(cmd, *end_group(process, timeout))


def find_nccl():
    """The loader's libnccl, else that of a wheel."""
    if ctypes.util.find_library("nccl"):
        return "libnccl.so.2"
    spec = importlib.util.find_spec("nvidia")
    for base in (spec.submodule_search_locations or []) if spec else []:
        for path in glob.glob(os.path.join(base, "nccl", "lib", "libnccl.so.2")):
            return path
    return "libnccl.so.2"


class Pair:
    """Two NCCL processes that live for many measurements; see bench/nccl_p2p.c. Or @command's, that answer alike."""

    def __init__(self, programs, name, settings, gpus=(0, 1), nccl=None, cuda=None, command=None):
        self.name, self.settings = name, settings
        self.folder = tempfile.TemporaryDirectory(prefix="nccl-")
        self.message_s = {}  # (op, size) -> what one took, for the next count
        self.wrong = 0
        env = {k: v for k, v in os.environ.items() if not k.startswith("NCCL_")}
        env.update(settings, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,ENV",
                   NCCL_DEBUG_FILE=os.path.join(self.folder.name, "log.%p"))
        cmd = command or ([programs.find("nccl_p2p"), str(gpus[0]), str(gpus[1]), nccl or find_nccl()] +
                          ([cuda] if cuda else []))
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(cmd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, start_new_session=True)
        self.rest = b""
        self.greeting = None

    def ready(self, timeout=45):
        if not self.greeting:
            self.greeting = self._read(timeout)
        return self

    def _read(self, timeout):
        until = time.monotonic() + timeout
        out = self.process.stdout.fileno()
        while not self.rest.startswith(b"{") or b"\n" not in self.rest:
            if b"\n" in self.rest:  # NCCL 2.20 prints its version there
                self.rest = self.rest.split(b"\n", 1)[1]
                continue
            left = until - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                self._fail("no answer in %d s" % timeout)
            more = os.read(out, 65536)
            if not more:
                self._fail("ended")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise Failed("NCCL %s: %s" % (self.name, answer["error"]))
        return answer

    def _fail(self, what):
        self.kill()
        self.errors.seek(0)
        raise Failed("NCCL %s: %s: %s" % (self.name, what,
                                          " | ".join(self.errors.read().split("\n")[-4:])))

    def ask(self, op, size, count, group=1, timeout=60):
        if self.process.poll() is not None:
            self._fail("ended before")
        self.ready()
        try:
            self.process.stdin.write(b"%s %d %d %d\n" % (op.encode(), size, count, group))
            self.process.stdin.flush()
        except OSError:
            self._fail("ended")
        answer = self._read(timeout)
        self.wrong += answer["wrong"]
        return answer

    def measure(self, op, size, seconds=0.2, group=1):
        """As many messages as fill about @seconds."""
        key, wrong = (op, size, group), 0
        if key not in self.message_s:
            first = self.ask(op, size, 2 if size >= 16 * MIB else 64, group)
            self.message_s[key], wrong = max(first["message_us"] / 1e6, 1e-7), first["wrong"]
        most = 4000 if op == "pingpong" else 1 << 20
        count = min(max(int(seconds / self.message_s[key]), 2), most)
        answer = self.ask(op, size, count, group)
        answer["wrong"] += wrong
        self.message_s[key] = max(answer["message_us"] / 1e6, 1e-7)
        return answer

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self):
        """How its connections went, from NCCL's own log: {"NET/Socket": 4}."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        ways = {}
        for path in glob.glob(os.path.join(self.folder.name, "log.*")):
            with open(path, errors="replace") as f:
                for line in f:
                    if " via " in line:
                        way = line.split(" via ")[1].split()[0].rsplit("/", 1)[0]
                        ways[way] = ways.get(way, 0) + 1
        self.folder.cleanup()
        return {"settings": self.settings, "nccl": (self.greeting or {}).get("nccl"),
                "connections": ways, "wrong": self.wrong}


# ---- rounds -------------------------------------------------------------------------------

class Samples:
    """Values taken in rounds: of[runner][case] is a list, one entry a round."""

    def __init__(self):
        self.of = {}
        self.errors = []

    def add(self, runner, values):
        for case, value in values.items():
            self.of.setdefault(runner, {}).setdefault(case, []).append(value)

    def values(self, runner, case, field):
        return [v[field] for v in self.of.get(runner, {}).get(case, [])]

    def median(self, runner, case, field):
        return median(self.values(runner, case, field))

    def wrong(self, runner):
        return sum(v.get("wrong", 0) for case in self.of.get(runner, {}).values() for v in case)

    def ratios(self, ours, other, case, field, inverse=False):
        """Round by round, above 1 we are better: GB/s as they are, times inverse."""
        a, b = self.values(ours, case, field), self.values(other, case, field)
        if inverse:
            a, b = b, a
        return [x / y for x, y in zip(a, b) if y > 0]


def take_rounds(runners, until, end, least=5, most=9):
    """
    Calls each of @runners {name: function(round) -> {case: {field: value}}} once a round,
    the order turned round in every other one, so that a drift of the machine hits all alike.
    Ends after @most rounds, or at @until once there are @least, or at @end. A round in which
    one of them fails counts for none; a second such round ends it.
    """
    s = Samples()
    for i in range(most):
        now = time.monotonic()
        if (i >= least and now > until) or (i and now > end):
            break
        names, got = list(runners), {}
        try:
            for name in names[::-1] if i % 2 else names:
                got[name] = runners[name](i)
        except Failed as e:
            s.errors.append(str(e))
            if len(s.errors) == 2:
                break
            continue
        for name in names:
            s.add(name, got[name])
    if not s.of:
        raise Failed("; ".join(s.errors) or "no round")
    return s


# ---- the machine --------------------------------------------------------------------------

def gpu_names():
    try:
        rc, out, _ = run_group(["nvidia-smi", "--query-gpu=name,driver_version",
                                "--format=csv,noheader"], None, 30)
    except OSError:
        return []
    return out.strip().split("\n") if not rc and out.strip() else []


def places(host):
    """Where memory of the two sides lies. With one GPU both share it, and NCCL cannot play."""
    if host:
        return "host", "host"
    return "cuda:0", "cuda:1" if len(gpu_names()) > 1 else "cuda:0"


def read_line(path):
    try:
        with open(path) as f:
            return f.readline().strip()
    except OSError:
        return "?"


def version():
    """The commit that this file is of, as docs/results name it."""
    try:
        return run_group(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], None, 30)[1].strip() or "?"
    except OSError:
        return "?"


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((l.split(":")[1].strip() for l in f if "model name" in l), "?")
    return {"cpus": os.cpu_count(), "model": model, "kernel": platform.release(),
            "gpus": gpu_names(),
            "congestion_control": read_line("/proc/sys/net/ipv4/tcp_congestion_control"),
            "tcp_rmem": read_line("/proc/sys/net/ipv4/tcp_rmem"),
            "tcp_wmem": read_line("/proc/sys/net/ipv4/tcp_wmem"),
            "lo_mtu": read_line("/sys/class/net/lo/mtu")}


# ---- the table ----------------------------------------------------------------------------

def markdown(record):
    """The table of a run of gpu.py: record["table"] and what stands around it."""
    m = record["machine"]
    lines = ["# gpu", "", "Machine: %d x %s, Linux %s, %s. Date: %s. Version: %s. Command: `%s`." % (
        m["cpus"], m["model"], m["kernel"], "; ".join(m["gpus"]) or "no GPU", record["date"],
        record["version"], record["command"]),
        "Both ends share this machine and its loopback interface: read the ratios, not the GB/s.",
        "Ours runs without any setting. NCCL %s is kept off NVLink and shared memory; tuned is %s "
        "(32 channels both ways). Medians; ratios are taken round by round, the interval holds "
        "their median at 95 %% or more." % (
            record["nccl"].get("default", {}).get("nccl", "?"),
            " ".join("%s=%s" % s for s in TUNED_UNI.items())),
        "Bytes: ours are compared in the first round of each row, the later rounds are timed alone "
        "(`-c 0`).", "",
        "| what | ours | beside | ratio | 95 % | wanted | met | rounds | wrong bytes |",
        "|" + " --- |" * 9]
    for r in record["table"]:
        lines.append("| %s | %s | %s | %s | %s | %s | %s | %s | %d |" % (
            r["what"], r["ours"], r["beside"],
            "" if r["ratio"] is None else "%.3f" % r["ratio"],
            "%.3f .. %.3f" % tuple(r["interval"]) if r["interval"] else "",
            r["wanted"], r["met"] or "", r["rounds"] or "", r["wrong"]))
    lines += ["", "Met or not is said by the median alone; the interval stands beside it.",
              "NCCL's round trips are timed by events on the GPU, ours by the host's clock from "
              "the call until the answer's note is in hand: that flatters NCCL."]
    failed = ["- %s: %s" % (name, part["error"]) for name, part in record["parts"].items()
              if part.get("error")]
    if failed:
        lines += ["", "Not measured, or not wholly:", ""] + failed
    return "\n".join(lines) + "\n"
