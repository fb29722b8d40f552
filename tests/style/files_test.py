#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that people and tools read are what they claim to be. Usage: files_test.py
SOURCE-ROOT"""
import glob
import json
import os
import re
import shutil
import sys

import tap

os.chdir(sys.argv[1])


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def the_result_schema_is_json():
    schema = json.loads(read("docs/result.schema.json"))
    assert "$schema" in schema and "rows" in schema["properties"], "not a schema of results"


def shell_scripts_are_clean():
    if not shutil.which("shellcheck"):
        raise tap.Skip("no shellcheck here")
    # 1091: what is sourced is checked on its own
    scripts = [".ci/run"] + sorted(glob.glob("scripts/*.sh") + glob.glob("tests/fuzz/*.sh"))
    tap.succeeds("shellcheck", "-e", "1091", *scripts)


def manual_pages_are_clean():
    if not shutil.which("man"):
        raise tap.Skip("no man here")
    pages = sorted(glob.glob("man/*.[1-8]"))
    assert pages, "no manual page"
    for page in pages:
        said = tap.succeeds("env", "LC_ALL=C.UTF-8", "MANROFFSEQ=", "man", "--warnings", "-E",
                            "UTF-8", "-l", "-Tutf8", "-Z", page)
        warnings = [line for line in said.splitlines() if "warning" in line]
        assert not warnings, "%s\n%s" % (page, "\n".join(warnings))


def every_setting_is_in_the_manual():
    settings = re.findall(r'\.name = "(TCPX_\w+)"', read("src/base/settings.c"))
    manual = read("man/tcpx.conf.5")
    assert settings, "no setting found"
    missing = [name for name in settings if name not in manual]
    assert not missing, "run scripts/settings-man.py; not in man/tcpx.conf.5: " + " ".join(missing)


def the_readme_names_only_files_that_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", read("README.md"))
    missing = [link for link in links if not os.path.exists(link)]
    assert links and not missing, "README.md links to nothing: " + " ".join(missing)


tap.run([the_result_schema_is_json, shell_scripts_are_clean, manual_pages_are_clean,
         every_setting_is_in_the_manual, the_readme_names_only_files_that_exist])
