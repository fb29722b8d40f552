#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files for clusters are right, as far as a test without a cluster can see.
Usage: deploy_test.py SOURCE-ROOT [TOOL]"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

tool = [os.path.abspath(path) for path in sys.argv[2:]]
os.chdir(sys.argv[1])
BINDING = re.compile(r"(eth\d:\d+-\d+(,\d+-\d+)*)(;eth\d:\d+-\d+(,\d+-\d+)*)*$")


def documents():
    try:
        import yaml
    except ImportError:
        raise tap.Skip("no PyYAML here") from None
    with open("deploy/gke-a3-high.yaml", encoding="utf-8") as f:
        return {one["kind"]: one for one in yaml.safe_load_all(f)}


def container(job, name):
    spec = job["spec"]["template"]["spec"]
    return next(c for c in spec["initContainers"] + spec["containers"] if c["name"] == name)


def environment(one):
    env = {}
    for entry in one.get("env", []):
        assert isinstance(entry["value"], str), "%s is no text" % entry["name"]
        assert entry["name"] not in env, "%s is there twice" % entry["name"]
        env[entry["name"]] = entry["value"]
    return env


def the_job_is_indexed_and_complete():
    docs = documents()
    job, service = docs["Job"], docs["Service"]
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    env = environment(container(job, "mesh"))
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == int(env["TCPX_RANKS"])
    assert pod["subdomain"] == service["metadata"]["name"] and service["spec"]["clusterIP"] == "None"
    assert env["TCPX_RENDEZVOUS"].startswith("%s-0.%s" % (job["metadata"]["name"], pod["subdomain"]))
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}


def every_mount_has_a_volume():
    pod = documents()["Job"]["spec"]["template"]["spec"]
    volumes = [v["name"] for v in pod["volumes"]]
    mounted = [m["name"] for c in pod["initContainers"] + pod["containers"]
               for m in c["volumeMounts"]]
    assert sorted(set(mounted)) == sorted(volumes), "%s, %s" % (mounted, volumes)


def the_nics_agree():
    job = documents()["Job"]
    notes = job["spec"]["template"]["metadata"]["annotations"]
    nics = [n["interfaceName"] for n in json.loads(notes["networking.gke.io/interfaces"])]
    env = environment(container(job, "mesh"))
    assert nics == ["eth0", "eth1", "eth2", "eth3", "eth4"]
    assert env["TCPX_NICS"] == env["NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"] == ",".join(nics[1:])
    for name in ("TX", "RX"):
        value = env["NCCL_GPUDIRECTTCPX_%s_BINDINGS" % name]
        assert BINDING.match(value), value
        assert re.findall(r"eth\d", value) == nics[1:]


def manifest_and_script_say_the_same():
    env = environment(container(documents()["Job"], "mesh"))
    with open("deploy/mesh.sbatch", encoding="utf-8") as f:
        script = f.read()
    said = dict(re.findall(r'\b(NCCL_\w+)="?([^"\s]+)"?', script))
    assert len(said) > 10
    for name, value in said.items():
        assert value == "$TCPX_NICS" or env[name] == value, "%s: %s, %s" % (name, value, env[name])


def the_daemon_is_a_sidecar():
    daemon = container(documents()["Job"], "tcpx-daemon")
    assert daemon["restartPolicy"] == "Always", "the Job would never end"
    args = daemon["args"]
    prefix = environment(container(documents()["Job"], "mesh"))["NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX"]
    assert args[args.index("--uds_path") + 1] == prefix


def script(provider):
    """What the batch script ends with, and the provider that its ranks get; srun is a stub."""
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/srun", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncase $* in *test*) exit 0;; esac\necho $TCPX_PROVIDER\n")
        os.chmod(folder + "/srun", 0o755)
        env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], SLURM_JOB_ID="1")
        env.pop("TCPX_PROVIDER", None)
        env.update({"TCPX_PROVIDER": provider} if provider else {})
        return tap.succeeds("env", *["%s=%s" % item for item in env.items()], "bash",
                            "deploy/mesh.sbatch").strip()


def they_measure_the_plugin_or_fail():
    env = environment(container(documents()["Job"], "mesh"))
    assert env["TCPX_PROVIDER"] == "tcpx"
    assert script(None) == "tcpx" and script("sock") == "sock"
    if not tool:
        raise tap.Skip("the tool was not built")
    done = subprocess.run([*tool, "perf", "--mesh", "--ranks", "2", "-b", "64K", "-n", "1"],
                          env=dict(os.environ, TCPX_PROVIDER=env["TCPX_PROVIDER"],
                                   TCPX_PLUGIN_PATH="/nonexistent"), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode and "no such library" in done.stdout, done.stdout


def commands_have_options_that_exist():
    if not tool:
        raise tap.Skip("the tool was not built")
    usage = tap.succeeds(*tool, "perf", "--help")
    with open("deploy/mesh.sbatch", encoding="utf-8") as f:
        options = set(re.findall(r" (--[a-z-]+)", f.read().split("srun \"")[1]))
    options |= {w for w in container(documents()["Job"], "mesh")["command"] if w.startswith("--")}
    assert len(options) > 4
    missing = [o for o in options if not re.search(r"%s\b" % o, usage)]
    assert not missing, missing


def the_batch_script_is_clean():
    if not shutil.which("shellcheck"):
        raise tap.Skip("no shellcheck here")
    tap.succeeds("shellcheck", "-s", "bash", "-S", "warning", "deploy/mesh.sbatch")


def the_batch_script_is_bash():
    if not shutil.which("bash"):
        raise tap.Skip("no bash here")
    assert subprocess.run(["bash", "-n", "deploy/mesh.sbatch"], check=False).returncode == 0


def older_scripts_are_clean():
    if not shutil.which("shellcheck"):
        raise tap.Skip("no shellcheck here")
    tap.succeeds("shellcheck", "-S", "warning", "compat/bench_p2p.sh", "compat/run_p2p_fullmesh.sh")


tap.run([the_job_is_indexed_and_complete, every_mount_has_a_volume, the_nics_agree,
         manifest_and_script_say_the_same, the_daemon_is_a_sidecar,
         they_measure_the_plugin_or_fail, commands_have_options_that_exist, the_batch_script_is_clean, the_batch_script_is_bash,
         older_scripts_are_clean])
