#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C file that holds a page's template: see src/tool/template.h for its language.

Usage: embed_page.py NAME BODY FRAME.html STYLE.css... SCRIPT.js... HEADER OUTPUT.c

The result is NAME_html[]: FRAME with the body, the styles, the scripts as one, and its hash, by
which the policy of the page allows it and no other. A body in Markdown gives NAME_md[], too.

A line that begins with a tab continues the line before, with a space between; in HTML without, if
a tag stands on either side. A line of nothing but sections' tags is no line of the output. {{! }}
is a comment.

Of Markdown a body may have: a title and a line above it, ## headings, paragraphs, **bold** ones,
- items, tables, code by four spaces, and a foot below ---. ![caption](name) is a picture that the
script draws, in HTML alone.
"""
import base64
import hashlib
import html
import re
import sys

FORMATS = r"size|amount|time|digits|count|code|script|%\.\d[fg]"
VALUE = re.compile(r"((%s) (\d+ )?)?[\w.-]+(\|.*)?" % FORMATS)
SECTION = re.compile(r"[#^](@first|[\w.-]+(=[^|]*)?)")
BLOCKS = ((r"## (.*)", "<h2>%s</h2>"), (r"- (.*)", "<li>%s</li>"), (r"    (.*)", "<pre>%s</pre>"),
          (r"\*\*(.*)\*\*", "<p><b>%s</b></p>"), (r"(.*)", "<p>%s</p>"))


def literal(text):
    lines = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").split("\n")
    return "\n".join('\t"%s\\n"' % line for line in lines[:-1]) + '\n\t"%s"' % lines[-1]


def check(name, text):
    """Every tag is one of the language, and every section ends."""
    open_ones = []
    for tag in re.findall(r"\{\{(.*?)\}\}", text, re.S):
        if tag.startswith("/"):
            section = open_ones.pop() if open_ones else sys.exit("%s: {{%s}} ends nothing" % (name, tag))
            if tag[1:] not in ("", section, section.split("=")[0]):
                sys.exit("%s: {{%s}} is to end %s" % (name, tag, section))
        elif SECTION.fullmatch(tag):
            open_ones.append(tag[1:])
        elif not VALUE.fullmatch(tag):
            sys.exit("%s: what is {{%s}}?" % (name, tag))
    if open_ones:
        sys.exit("%s: {{#%s}} has no end" % (name, open_ones[-1]))


def lines_of(text, is_html):
    """The lines, as (line, is it nothing but sections' tags)."""
    text = re.sub(r"\{\{!.*?\}\}\n", "", text, flags=re.S)
    if is_html:
        text = re.sub(r"(?<=[>}])\n\t+|\n\t+(?=[<{])", "", text)
    for line in re.sub(r"\n\t+", " ", text).split("\n")[:-1]:
        yield line, bool(re.fullmatch(r"(\{\{[#^/][^}]*\}\})+", line))


def flat(text, is_html=True):
    return "".join(line + "\n" * (not tags) for line, tags in lines_of(text, is_html))


def block(line):
    """A line of Markdown, tables apart, as HTML."""
    for form, result in BLOCKS:
        match = re.fullmatch(form, line)
        if match:
            return result % match.group(1) + "\n"


def to_html(text):
    """A body in Markdown as one in HTML."""
    (title, _), _, (above, _), *lines = lines_of(text, False)
    out, in_table, in_foot = ['<p class="eyebrow">%s</p><h1>%s</h1>' % (above, title[2:])], False, False
    for i, (line, tags) in enumerate(lines):
        picture = re.fullmatch(r"!\[(.*)\]\((.*)\)", line)
        if in_table and not tags and not line.startswith("|"):
            out.append("</tbody></table></div>\n")
            in_table = False
        if tags:
            out.append(line)
        elif picture:
            out.append('<p class="hint">%s</p><figure data-plot="%s"></figure>\n' % picture.groups())
        elif line.startswith("| ---"):
            in_table = True
        elif line.startswith("|") and not in_table:
            out.append('<div class="scroll"><table><thead><tr>%s</tr></thead><tbody>\n'
                       % re.sub(r" (.*?) \|", r"<th>\1</th>", line[1:]))
        elif line.startswith("|"):
            out.append("<tr>%s</tr>\n" % re.sub(r" (.*?) \|", r"<td>\1</td>", line[1:]))
        elif line == "---":
            in_foot = True
        elif line:
            out.append("<footer>%s</footer>\n" % line if in_foot else block(line))
    parts = re.split(r"(\{\{.*?\}\}|<[^>]*>)", "".join(out).replace("</pre>\n<pre>", "\n"))
    return "".join(p if p[:1] in ("{", "<") else html.escape(p) for p in parts)


def main():
    name, body, frame, *files, header, output = sys.argv[1:]
    texts = {path: open(path).read() for path in (body, frame, *files)}
    for path in files:
        if "{{" in texts[path]:
            sys.exit("%s: {{ would be a tag" % path)
    style, script = ("".join(texts[path] for path in files if path.endswith(end)) for end in (".css", ".js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    is_markdown = body.endswith(".md")
    page = flat(texts[frame])
    for place, text in (("hash", "sha256-" + digest), ("script", script), ("style", style),
                        ("body", (to_html if is_markdown else flat)(texts[body]))):
        page = page.replace("{{>%s}}" % place, text)
    arrays = {name + "_html": page}
    if is_markdown:
        arrays[name + "_md"] = flat(re.sub(r"!\[.*?\]\(.*?\)\n\n?", "", texts[body]), False)
    with open(output, "w") as out:
        out.write('/* Made by embed_page.py. */\n#include "%s"\n' % header)
        for array, text in arrays.items():
            check(body, text)
            out.write("\nconst char %s[] =\n%s;\n" % (array, literal(text)))


if __name__ == "__main__":
    main()
