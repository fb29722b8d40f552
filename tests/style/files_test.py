#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables, scripts and manual pages are what they claim to be.
Usage: files_test.py SOURCE-ROOT WRITTEN-PAGE [TOOL]"""
import glob
import os
import re
import shutil
import sys
import tempfile

import tap

written = os.path.abspath(sys.argv[2])
tool = [os.path.abspath(path) for path in sys.argv[3:]]
os.chdir(sys.argv[1])
pages = sorted(glob.glob("man/*.[1-8]")) + [written]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def members(path, struct):
    """The names in a struct, in order."""
    body = re.search(r"struct %s \{(.*?)\n\};" % struct, read(path), re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return [name for line in body.split(";") for name in re.findall(r"(\w+)(?:\[\w+\])?(?:,|$)", line)]


def every_public_figure_is_in_a_table():
    tables = read("src/base/figures.c")
    for public, described in (("tcpx_counters",) * 2, ("tcpx_thread_info",) * 2,
                              ("tcpx_channel_info", "channel_figures"),
                              ("tcpx_nic_info", "nic_figures")):
        table = tables.split("#define S struct %s\n" % described)[1].split("#undef S")[0]
        for name in members("include/tcpx/tcpx.h", public):
            assert name == "struct_size" or re.search(r"\W%s[,)]" % name, table), \
                "%s of struct %s has no line in src/base/figures.c" % (name, public)


def counters_have_the_order_of_the_public_struct():
    own = members("src/core/context/context.h", "counters")
    public = members("include/tcpx/tcpx.h", "tcpx_counters")
    assert own == public[1:1 + len(own)], "tcpx_query() copies them by their places"


def every_planted_bug_fits_the_source():
    sys.dont_write_bytecode = True
    sys.path.insert(0, "tests/mutants")
    import mutants
    literals = {"_"} | {word for top in ("tests", "examples", "emu", "src")
                        for p in glob.glob(top + "/**/meson.build", recursive=True)
                        for word in re.findall(r"'([^'\n]{3,})'", read(p))}

    def is_defined(test):
        """By its name, or by one made of words of meson.build, as of a loop."""
        ends = {0}
        for i in range(len(test)):
            if i in ends:
                ends |= {i + len(word) for word in literals if test.startswith(word, i)}
        return len(test) in ends

    entries = mutants.all_entries()
    assert len({e.name for e in entries}) == len(entries) > 0, "two have one name"
    for e in entries:
        count = mutants.places(read(e.file), e.old)
        assert count == 1, "%s: its lines are %d times in %s" % (e.name, count, e.file)
        assert e.tests and e.old != e.new, "%s: changes nothing, or no test is to fail" % e.name
        for words in e.tests:
            assert is_defined(words[0]), "%s: no test is called %s" % (e.name, words[0])


def shell_scripts_are_clean():
    if not shutil.which("shellcheck"):
        raise tap.Skip("no shellcheck here")
    # 1091: what is sourced is checked on its own
    scripts = [".ci/run"] + sorted(glob.glob("scripts/*.sh") + glob.glob("compat/*.sh") +
                                   glob.glob("share/matrix/*.sh") + glob.glob("tests/fuzz/*.sh"))
    tap.succeeds("shellcheck", "-S", "warning", "-e", "1091", *scripts)


def manual_pages_are_clean():
    if not shutil.which("man"):
        raise tap.Skip("no man here")
    for page in pages:
        other = re.fullmatch(r"\.so man1/(\S+)\n", read(page))
        if other:  # the same page under another name
            assert os.path.exists("man/" + other.group(1)), page
            continue
        said = tap.succeeds("env", "LC_ALL=C.UTF-8", "man", "--warnings", "-E", "UTF-8", "-Tutf8",
                            "-l", page)
        warnings = [line for line in said.splitlines() if re.search(r":\d+: (warning|error)", line)]
        assert not warnings, "%s\n%s" % (page, "\n".join(warnings))


def every_call_has_a_page():
    """Those that scripts/man3.py writes, whether they are built already or not."""
    calls = set(re.findall(r"^\t(tcpx_\w+);", read("src/lib/tcpx.map"), re.M))
    with tempfile.TemporaryDirectory() as folder:
        tap.succeeds(sys.executable, "scripts/man3.py", "include/tcpx/tcpx.h", "0", folder)
        made = {os.path.basename(path)[:-2]: read(path) for path in glob.glob(folder + "/*.3")}
        assert calls == set(made) - {"tcpx"}, calls ^ (set(made) - {"tcpx"})
        for name, text in made.items():
            assert "TCPX_API" not in text and len(text) > 20, name
            line = re.match(r"\.so|(?s:.*?)\.SH NAME\n([^\n]{,100})\n", text)
            assert line, "what man -k shows of %s is longer than 100 characters" % name
            if shutil.which("man") and not text.startswith(".so"):
                said = tap.succeeds("env", "LC_ALL=C.UTF-8", "man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l",
                                    "%s/%s.3" % (folder, name))
                assert not re.search(r":\d+: (warning|error)", said), said


def every_command_has_a_page():
    """Of its own, or its like's by .so; it is installed, and tcpx(1) leads to it."""
    if not tool:
        raise tap.Skip("the tool was not built")
    commands = re.findall(r"^  ([a-z]+)  ", tap.succeeds(*tool, "--help"), re.M)
    overview, installed = read("man/tcpx.1").replace("\\-", "-"), read("man/meson.build")
    missing = [name for name in commands
               if not os.path.exists("man/tcpx-%s.1" % name) or "'tcpx-%s.1'" % name not in installed or
               not (re.search(r"tcpx-%s \(1\)" % name, overview) or
                    read("man/tcpx-%s.1" % name) == ".so man1/tcpx.1\n")]
    assert len(commands) > 10 and not missing, "without a page: " + " ".join(missing)


def the_packages_have_the_version_of_the_tree():
    version = re.search(r"version: '(\S+)'", read("meson.build")).group(1)
    assert read("debian/changelog").startswith("tcpx-p2p (%s-" % version), \
        "debian/changelog is not of %s" % version


def every_option_is_in_the_manual():
    if not tool:
        raise tap.Skip("the tool was not built")
    missing = []
    for words, page in (("perf", "tcpx-perf.1"), ("serve", "tcpx-perf.1"), ("info", "tcpx-info.1"),
                        ("report", "tcpx-report.1"), ("doctor", "tcpx-doctor.1"),
                        ("env", "tcpx-env.1"), ("topo", "tcpx-topo.1"), ("top", "tcpx-top.1"),
                        ("irq snapshot", "tcpx-irq.1"),
                        ("irq diff", "tcpx-irq.1"),
                        ("diag run", "tcpx-diag.1"), ("diag compare", "tcpx-diag.1"),
                        ("lab up", "tcpx-lab.1"), ("lab down", "tcpx-lab.1"),
                        ("irq apply", "tcpx-irq-apply.1"), ("irq verify", "tcpx-irq-apply.1"),
                        ("irq restore", "tcpx-irq-apply.1"), ("pin", "tcpx-pin.1"),
                        ("lab exec", "tcpx-lab.1"), ("lab status", "tcpx-lab.1"),
                        ("irq plan", "tcpx-irq.1"), ("irq lint", "tcpx-irq.1"),
                        ("matrix run", "tcpx-matrix.1"), ("matrix resume", "tcpx-matrix.1"),
                        ("matrix report", "tcpx-matrix.1")):
        usage = tap.succeeds(*tool, *words.split(), "--help")
        manual = read("man/" + page).replace("\\-", "-")
        options = set(re.findall(r"^ +(?:-\w, +)?(--[a-z][a-z-]*)", usage, re.M)) - {"--help"}
        assert options, "tcpx %s --help names no option" % words
        missing += ["%s: tcpx %s %s" % (page, words, o) for o in sorted(options)
                    if not re.search(r"\\fB%s\\fR" % o, manual)]
    assert not missing, "not described:\n" + "\n".join(missing)


def the_picture_is_that_of_its_results():
    made = tap.succeeds(sys.executable, "scripts/plot_gpu.py", "docs/results/gpu.md", "-")
    assert made == read("docs/images/gpu-nccl.svg"), \
        "not drawn from docs/results/gpu.md: scripts/plot_gpu.py docs/results/gpu.md docs/images/gpu-nccl.svg"


def the_comparison_is_that_of_its_results():
    made = tap.succeeds(sys.executable, "scripts/comparison_page.py", "docs/results", "-")
    assert made == read("docs/results/comparison.md"), "not written from its result files: " \
        "scripts/comparison_page.py docs/results docs/results/comparison.md"


tap.run([every_public_figure_is_in_a_table, counters_have_the_order_of_the_public_struct,
         every_planted_bug_fits_the_source, shell_scripts_are_clean, manual_pages_are_clean, every_call_has_a_page,
         every_command_has_a_page,
         the_packages_have_the_version_of_the_tree,
         every_option_is_in_the_manual,
         the_picture_is_that_of_its_results, the_comparison_is_that_of_its_results])
