#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/embed_page.py makes of a page's body, and what it refuses.
Usage: pages_test.py SOURCE-ROOT"""
import os
import re
import subprocess
import sys
import tempfile

import tap

script = os.path.join(sys.argv[1], "scripts", "embed_page.py")


def embed(body, kind="html", style=""):
    """The script's complaint, or the arrays that it makes, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {"body." + kind: body, "frame.html": "{{>style}}{{>script}}{{>hash}}<main>{{>body}}</main>\n",
                 "s.css": style, "s.js": ""}
        paths = [os.path.join(folder, name) for name in texts]
        for path, text in zip(paths, texts.values()):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        out = os.path.join(folder, "out.c")
        done = subprocess.run([script, "x", *paths, "x.h", out], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return done.stderr
        with open(out, encoding="utf-8") as f:
            made = f.read()
    arrays = re.findall(r"const char x_(\w+)\[\] =\n(.*?);\n", made, re.S)
    return {name: "".join(re.findall(r'^\t"(.*)"', text, re.M)).replace("\\n", "\n").replace('\\"', '"')
            for name, text in arrays}


def body_of(page):
    return re.search("<main>(.*)</main>", page["html"], re.S).group(1)


def a_tag_that_is_none_is_refused():
    for tag in ("{{}}", "{{sise x}}", "{{%s x}}", "{{%.3d x}}", "{{{x}}}", "{{#}}", "{{size 1.5 x}}"):
        said = embed("a %s b\n" % tag)
        assert isinstance(said, str) and "what is" in said, (tag, said)


def a_section_must_end_and_by_its_name():
    for text, why in (("{{#a}}\n", "has no end"), ("{{/a}}\n", "ends nothing"), ("{{#a}}{{/b}}\n", "is to end a"),
                      ("{{#a=x}}{{#b}}{{/a}}{{/b}}\n", "is to end b")):
        said = embed(text)
        assert isinstance(said, str) and why in said, (text, said)
    assert body_of(embed("{{#a=x y}}{{#b}}1{{/}}{{/a}}\n")) == "{{#a=x y}}{{#b}}1{{/}}{{/a}}\n"


def a_style_with_a_tag_is_refused():
    assert "would be a tag" in embed("a\n", style="a {{b}}\n")


def lines_are_joined_and_lines_of_tags_vanish():
    assert body_of(embed("<p>a\n\tb\n\t{{c}}\n\td\n\t<i>e\n\t</i></p>\n{{#x}}{{^y}}\ng\n{{/y}}{{/x}}\n{{! no }}\n")) == \
        "<p>a b{{c}}d<i>e</i></p>\n{{#x}}{{^y}}g\n{{/y}}{{/x}}"


def markdown_becomes_a_page_too():
    made = embed("# {{t}}\n\nabove\n\n## It's\n\na \"b\"\n\tc\n\n**bold**\n\n- item\n\n    code\n    more\n\n"
                 "| h | i |{{#l}} {{.}} |{{/l}}\n| --- | --- |{{#l}} --- |{{/l}}\n{{#r}}\n| {{x|-}} | y |{{#l}} z |{{/l}}\n"
                 "{{/r}}\n\n![seen](plot)\nafter\n\n---\n\nfoot\n", "md")
    assert made["md"] == (
        "# {{t}}\n\nabove\n\n## It's\n\na \"b\" c\n\n**bold**\n\n- item\n\n    code\n    more\n\n"
        "| h | i |{{#l}} {{.}} |{{/l}}\n| --- | --- |{{#l}} --- |{{/l}}\n{{#r}}| {{x|-}} | y |{{#l}} z |{{/l}}\n"
        "{{/r}}\nafter\n\n---\n\nfoot\n"), made["md"]
    assert body_of(made) == (
        '<p class="eyebrow">above</p><h1>{{t}}</h1><h2>It&#x27;s</h2>\n<p>a &quot;b&quot; c</p>\n'
        "<p><b>bold</b></p>\n<li>item</li>\n<pre>code\nmore</pre>\n"
        '<div class="scroll"><table><thead><tr><th>h</th><th>i</th>{{#l}}<th>{{.}}</th>{{/l}}</tr></thead><tbody>\n'
        "{{#r}}<tr><td>{{x|-}}</td><td>y</td>{{#l}}<td>z</td>{{/l}}</tr>\n{{/r}}</tbody></table></div>\n"
        '<p class="hint">seen</p><figure data-plot="plot"></figure>\n<p>after</p>\n<footer>foot</footer>\n'), body_of(made)


tap.run([a_tag_that_is_none_is_refused, a_section_must_end_and_by_its_name, a_style_with_a_tag_is_refused,
         lines_are_joined_and_lines_of_tags_vanish, markdown_becomes_a_page_too])
