#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages of section 3 from include/tcpx/tcpx.h: one for each comment with the calls under it, with
the structs before them; tcpx.3 from the comment at the top.
Usage: man3.py --list HEADER | man3.py HEADER VERSION FOLDER"""
import os
import re
import sys

ITEM = re.compile(r"/\*(?P<comment>.*?)\*/|(?P<call>^TCPX_API\b.*?;)|(?P<type>^(?:struct|enum) \w+ \{[^\n]*\};$"
                  r"|^(?:struct|enum) \w+ \{\n.*?^\};|^typedef [^;{]*\(\*[^;]*;)", re.S | re.M)
NAME = re.compile(r"\b(tcpx_\w+)\(")


class Page:
    def __init__(self, text, types):
        self.text, self.types, self.calls, self.more = text, types, [], ""

    def names(self):
        return [NAME.search(call).group(1) for call in self.calls]


def plain(comment):
    """A comment's text, without its stars."""
    return "\n".join(re.sub(r"^\s*\* ?", "", line) for line in comment.strip("*\n ").splitlines()).strip()


def read(path):
    """The text at the top, and the pages."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = text[text.index("*/") + 2:]  # the licence
    top = plain(re.search(r"/\*(.*?)\*/", text, re.S).group(1))
    body = text[text.index("typedef struct tcpx_engine"):]
    pages, types, comment, page = [], [], None, None
    for m in ITEM.finditer(body):
        if m["comment"] is not None:
            line = body.rfind("\n", 0, m.start()) + 1
            if body[line:m.start()].strip() or "----" in m["comment"]:
                continue
            comment, page = plain(m["comment"]), None
        elif m["type"]:
            types.append((comment, m["type"]))
            comment = None
        else:
            if pages and comment and comment.startswith("The same") and not types:
                page = pages[-1]
                page.more += "\n\n%s(): %s" % (NAME.search(m["call"]).group(1), comment[0].lower() + comment[1:])
                comment = None
            elif page is None or comment is not None or types:
                page = Page(comment or "", types)
                pages.append(page)
                comment, types = None, []
            page.calls.append(re.sub(r"\b(TCPX_API|TCPX_MUST_USE)\s+", "", m["call"]))
    return top, pages


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def code(lines):
    return ".PP\n.nf\n%s\n.fi\n" % roff("\n".join(lines).expandtabs(8))


def prose(text):
    """Paragraphs; "@name: what" becomes an item, "Return: ..." a section."""
    out = []
    for part in re.split(r"\n\s*\n|\n(?=@\w+[^\n]*?:)|\n(?=Return:)", text):
        part = part.strip()
        flat = re.sub(r"\s*\n\s*", "\n", part)
        item = re.match(r"((?:@\w+(?:, )?)+):\s*", flat)
        if "\n\t" in "\n" + part and part.startswith("tcpx_"):
            out.append(code(part.splitlines()))
        elif item:
            out.append(".TP\n.I %s\n%s\n" % (roff(item.group(1).replace("@", "")), roff(flat[item.end():].replace("@", ""))))
        elif flat.startswith("Return:"):
            out.append(".SH RETURN VALUE\n%s\n" % roff(flat[7:].strip()))
        elif flat:
            out.append(".PP\n%s\n" % roff(flat.replace("@", "")))
    return re.sub(r"^\.PP\n", "", "".join(out))


def headline(page):
    """What stands behind the names, and the rest of the text."""
    first = re.match(r"tcpx_\w+(?: / tcpx_\w+)* - ([^\n]+)\n?", page.text)
    if first:
        return first.group(1), page.text[first.end():]
    flat = re.sub(r" \([^)]* [^)]*\)", "", page.text.replace("\n", " "))
    line = re.split(r"[.;:](?:\s|$)", flat)[0].replace("@", "").strip()
    line = line if not line[:2].istitle() else line[0].lower() + line[1:]
    return line or "see tcpx(3)", page.text


def head(title, version):
    return '.\\" Written by scripts/man3.py\n.TH %s 3 "" "tcpx-p2p %s" "Library functions"\n' % (title.upper(), version)


def page_text(page, version):
    what, rest = headline(page)
    about, ret, end = rest.partition("\nReturn:")
    decls = []
    for comment, text in page.types:
        decls += [""] + (["/* " + comment.replace("\n", "\n * ") + " */"] if comment else []) + [text]
    return head(page.names()[0], version) + ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n" % (", ".join(page.names()), roff(what)) + \
        code(["#include <tcpx/tcpx.h>", ""] + page.calls + decls).replace(".PP\n", "", 1) + \
        ".SH DESCRIPTION\n" + prose(about + page.more + ret + end) + ".SH SEE ALSO\n.BR tcpx (3),\n.BR tcpx (7)\n"


def top_text(top, pages, version):
    names = sorted(name for page in pages for name in page.names())
    example = [line for line in top.splitlines() if line.startswith("\t")]
    text = "\n".join(line for line in top.splitlines() if not line.startswith("\t"))
    return head("tcpx", version) + ".SH NAME\ntcpx \\- move memory between processes and machines over plain TCP\n" \
        ".SH SYNOPSIS\n" + code(["#include <tcpx/tcpx.h>", ""] + [line.strip() for line in example]).replace(".PP\n", "", 1) + \
        ".SH DESCRIPTION\n" + prose(text) + ".SH SEE ALSO\n" + \
        ",\n".join(".BR %s (3)" % name for name in names) + "\n"


def main():
    if sys.argv[1] == "--list":
        print("\n".join(["tcpx.3"] + [name + ".3" for page in read(sys.argv[2])[1] for name in page.names()]))
        return
    header, version, folder = sys.argv[1:]
    top, pages = read(header)
    files = {"tcpx": top_text(top, pages, version)}
    for page in pages:
        first, *others = page.names()
        files[first] = page_text(page, version)
        files.update((name, ".so man3/%s.3\n" % first) for name in others)
    for name, text in files.items():
        with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as f:
            f.write(text)


main()
