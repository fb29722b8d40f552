#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents hold together: links, sizes, and the rule for prose, comments included.
Usage: docs_test.py SOURCE-ROOT"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys

import tap

os.chdir(sys.argv[1])
documents = sorted(glob.glob("*.md") + glob.glob("deploy/*.md") + glob.glob("docs/**/*.md", recursive=True))
# Those under the prose rule; the others are reports, references and results.
prose = ["docs/%s.md" % name for name in ("architecture", "protocol", "gpu", "machine")] + \
    sorted(glob.glob("docs/decisions/*.md")) + ["CONTRIBUTING.md"]
LINES = {"docs/architecture.md": 150}
RESULTS_LINES = 120  # of each page: today's table, its command, machine and date, what was missed, and why
DOCS_LINES = 7000  # of docs/ in all
GLOSSARY_WORDS = range(20, 41)
MEDIAN_WORDS = 16
ENOUGH = 12  # sentences that have a median worth the name
RIDDLES = r"\b(tells?|told|goes by|who was|is through|of use)\b"
COMMENT_RIDDLES = r"\b(tells?|told|goes by|who was|whoever)\b"
# A figure of README: a number with a point, or one of these units behind it; a version has a name before it.
FIGURE = r"(?<![\w.-])(\d+\.\d+|\d+(?= ?(?:%|(?:GB/s|us|ms|times)\b)))(?![\w.]*\w)"
VERSION_OF = r"\b(glibc|meson|NCCL|NIXL) $"
# A commit: seven digits or more, hexadecimal; without a letter only behind the word.
COMMIT = r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}\b|(?<=version )\d{7,8}\b|(?<=version of )\d{7,8}\b"
FILE = r"(?<![\w/.<-])((?:%s)/(?!include)[\w./-]+\.[ch])\b" % \
    "base|core|device|host|net|proto|tool|tune|emu|tests|src|include|tcpx"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def without_code(text):
    return re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.M | re.S)


def anchors(path):
    """The names that a heading gets on a web page of the repository."""
    headings = re.findall(r"^#+ +(.*)$", without_code(read(path)), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


def sentences(text):
    """Of paragraphs and list items; headings, tables and code have none."""
    text = re.sub(r"^(#|\|).*$", "", without_code(text), flags=re.M)
    text = re.sub(r"^ *(- |\d+\. )", "\n", text, flags=re.M)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.?!])\s+", " ".join(paragraph.split())):
            if len(sentence.split()) > 1:
                yield sentence


def comments():
    """(path, line, comment) of our C sources, without the strings in them."""
    paths = [path for place in ("src", "include", "emu", "examples", "bench", "compat", "tests")
             for path in glob.glob(place + "/**/*.[ch]", recursive=True)]
    for path in sorted(paths):
        text = re.sub(r'"(\\.|[^"\\\n])*"', '""', read(path))
        for comment in re.finditer(r"/\*.*?\*/", text, re.S):
            yield path, text.count("\n", 0, comment.start()) + 1, comment.group(0)


def every_link_leads_to_a_file():
    missing, links = [], 0
    for document in documents:
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(read(document))):
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            path, _, anchor = link.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(document), path)) \
                if path else document
            if not os.path.exists(path):
                missing.append("%s: no file %s" % (document, link))
            elif anchor and path.endswith(".md") and anchor not in anchors(path):
                missing.append("%s: no heading %s" % (document, link))
    assert links and not missing, "\n".join(missing)


def every_document_that_a_source_names_exists():
    missing, names = [], 0
    for place in ("src", "emu", "include", "compat", "examples", "bench", "tests", "scripts",
                  "man"):
        for path in glob.glob(place + "/**/*", recursive=True):
            if not os.path.isfile(path) or path.endswith((".png", ".xz", ".gz")):
                continue
            with open(path, encoding="utf-8", errors="replace") as f:
                text = f.read()
            for name in re.findall(r"(?<![\w/.-])docs/[\w/.-]+\.(?:md|json)\b", text):
                names += 1
                if not os.path.exists(name):
                    missing.append("%s: %s" % (path, name))
    assert names and not missing, "\n".join(missing)


def every_path_in_a_document_exists():
    """Paths in backticks, from the root of the tree; a * stands for any name."""
    tops = "|".join(sorted(os.path.basename(d.rstrip("/")) for d in glob.glob("*/")
                           if not d.startswith(("build", "share"))))
    missing, paths = [], 0
    for document in documents:
        if document.startswith("docs/results/") or document == "CHANGELOG.md":
            continue
        for path in re.findall(r"`((?:%s)/[\w./*-]+)`" % tops, without_code(read(document))):
            paths += 1
            if not glob.glob(path):
                missing.append("%s: %s" % (document, path))
    assert paths and not missing, "\n".join(missing)


def every_file_that_a_comment_names_exists():
    """From the root of the tree, or as #include has it; src/include is NCCL's."""
    missing, names = [], 0
    for path, line, comment in comments():
        for name in re.findall(FILE, comment):
            names += 1
            if not any(os.path.exists(os.path.join(top, name)) for top in (".", "src", "include")):
                missing.append("%s:%d: no file %s" % (path, line, name))
    assert names and not missing, "\n".join(missing)


def claims_of_security_have_their_tests():
    text = read("SECURITY.md")
    claims = re.findall(r"`([a-z_]+(?:/[a-z_]+)+): ([^`]+)`", text)
    bad = []
    for path, name in claims:
        found = [p for p in ("tests/%s_test.%s" % (path, ext) for ext in ("c", "cc", "sh")) if os.path.exists(p)]
        here = r"^(?:TEST(?:_WITH)?\()?%s[(,)]" if found and found[0].endswith((".c", ".cc")) else r'^\s*ok "%s"'
        if not found or not re.search(here % re.escape(name), read(found[0]), re.M):
            bad.append("SECURITY.md names the test %s: %s" % (path, name))
    assert len(claims) > 40 and not bad, "\n".join(bad) or "SECURITY.md has %d tests" % len(claims)


def no_document_is_longer_than_its_limit():
    files = [path for path in glob.glob("docs/**", recursive=True) if os.path.isfile(path)]
    lines = {path: len(read(path).splitlines()) for path in files}
    limits = dict.fromkeys(glob.glob("docs/results/*.md"), RESULTS_LINES) | LINES
    long = ["%s has %d lines, at most %d are allowed" % (path, lines[path], most)
            for path, most in limits.items() if lines[path] > most]
    if sum(lines.values()) > DOCS_LINES:
        long.append("docs/ has %d lines, at most %d are allowed" % (sum(lines.values()), DOCS_LINES))
    assert len(limits) > 10 and not long, "\n".join(long)


def every_page_is_in_its_list():
    for folder in "docs", "docs/decisions":
        pages = {os.path.basename(p) for p in glob.glob(folder + "/*.md")} - {"README.md"}
        listed = set(re.findall(r"\]\(([\w-]+\.md)\)", read(folder + "/README.md")))
        assert pages and pages == listed, "%s/README.md: %s" % (folder, " ".join(pages ^ listed))


def the_glossary_has_one_line_for_each_word():
    words = re.findall(r"^\| \*\*(.+?)\*\* \| \S.* \|$", read("docs/glossary.md"), re.M)
    assert len(words) == len(set(words)) and len(words) in GLOSSARY_WORDS, \
        "docs/glossary.md explains %d words, %d of them once" % (len(words), len(set(words)))


def prose_is_short_and_plain():
    bad = []
    for path in prose:
        text = read(path)
        counts = [len(s.split()) for s in sentences(text)]
        if len(counts) >= ENOUGH and statistics.median(counts) > MEDIAN_WORDS:
            bad.append("%s: half of its sentences have more than %d words" % (path, MEDIAN_WORDS))
        bad += ["%s: \"%s\": name what it is or does" % (path, m.group(0))
                for m in re.finditer(RIDDLES, without_code(text), re.I)]
    assert not bad, "\n".join(bad)


def comments_are_plain():
    bad, seen = [], 0
    for path, line, comment in comments():
        seen += 1
        bad += ["%s:%d: \"%s\": name what it is or does" % (path, line, m.group(0))
                for m in re.finditer(COMMENT_RIDDLES, comment, re.I)]
    assert seen and not bad, "\n".join(bad)


def every_figure_of_the_readme_is_on_the_page_beside_it():
    """Each paragraph and each row of a table links the page that has its figures."""
    bad, seen = [], 0
    for part in re.split(r"\n\s*\n|\n(?=\|)", without_code(read("README.md"))):
        pages = "".join(read(p) for p in re.findall(r"\]\(([\w./-]+\.md)\)", part))
        words = re.sub(r"\]\([^)]*\)", "]", part)
        for m in re.finditer(FIGURE, words):
            if re.search(VERSION_OF, words[:m.start()]):
                continue
            seen += 1
            if not re.search(r"(?<![\d.])%s(?![\d]|\.\d)" % re.escape(m.group(1)), pages):
                bad.append("README.md: %s is on no page linked beside it: %s" % (m.group(1), part.strip()[:60]))
    assert seen and not bad, "\n".join(bad)


def versions():
    """(path, commit) of docs/results."""
    for path in glob.glob("docs/results/**/*.md", recursive=True):
        for m in re.finditer(COMMIT, read(path)):
            yield path, m.group(0)


def every_page_of_results_names_its_version():
    named = {path for path, _ in versions()}
    bad = ["%s names no commit: which version was measured, or which one brought the table?" % path
           for path in sorted(glob.glob("docs/results/*.md")) if path not in named]
    assert named and not bad, "\n".join(bad)


def every_version_in_the_results_exists():
    shallow = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], capture_output=True, text=True,
                             check=False) if shutil.which("git") else None
    if not shallow or shallow.stdout.strip() != "false":
        raise tap.Skip("no git checkout with its whole history")
    named = sorted(set(versions()))
    types = tap.succeeds("git", "cat-file", "--batch-check=%(objecttype)",
                         text="".join(commit + "^{commit}\n" for _, commit in named)).splitlines()
    bad = ["%s: no version %s" % one for one, kind in zip(named, types) if kind != "commit"]
    assert len(named) == len(types) and not bad, "\n".join(bad)


def every_command_of_the_results_can_be_typed():
    """Nothing is left out of one, and what `make` does not build has its line of ninja."""
    bad, seen = [], 0
    for path in sorted(glob.glob("docs/results/*.md")):
        text = read(path)
        bad += ["%s: what is left out of \"%s\"?" % (path, line.strip())
                for line in re.findall(r"^ {4}.*\.\.\..*$", text, re.M)]
        for program in sorted(set(re.findall(r"\bbuild/((?:bench|tests)/[\w/]+)", text))):
            seen += 1
            if not re.search(r"ninja -C build\b.*\b%s\b" % program, text):
                bad.append("%s: no ninja -C build %s" % (path, program))
    assert seen and not bad, "\n".join(bad)


tap.run([every_link_leads_to_a_file, every_document_that_a_source_names_exists,
         every_path_in_a_document_exists, every_file_that_a_comment_names_exists,
         claims_of_security_have_their_tests,
         no_document_is_longer_than_its_limit,
         every_page_is_in_its_list, the_glossary_has_one_line_for_each_word,
         prose_is_short_and_plain, comments_are_plain,
         every_figure_of_the_readme_is_on_the_page_beside_it,
         every_command_of_the_results_can_be_typed,
         every_page_of_results_names_its_version, every_version_in_the_results_exists])
