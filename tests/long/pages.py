#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports in a browser: on a phone, a screen and paper, light and dark, nothing is cut or empty, texts
have contrast, values show, and the console says nothing. Usage: pages.py TOOL [FOLDER]
With FOLDER the records, pages and pictures of them stay there, to be looked at."""
import json
import os
import shutil
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path[:0] = [here, os.path.join(root, "tests", "style")]

import browser  # noqa: E402
import tap  # noqa: E402

if not browser.find():
    print("1..0 # SKIP no chromium here")
    sys.exit(77)
tool = os.path.abspath(sys.argv[1])
scratch = tempfile.mkdtemp()
keep = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
folder = keep or scratch
os.makedirs(folder, exist_ok=True)
os.environ["TCPX_STATS"] = os.path.join(scratch, "stats")


def script(name):
    with open(os.path.join(here, name), encoding="utf-8") as f:
        return f.read()


CHECK = script("page_check.js")


# Five cells of which one cannot run; two have an effect, and the figures differ from block to block.
STUDY = """title = Does a knob matter?
label = an example
question = Does the knob change the figure by more than the margin?
run = awk -v k=$KNOB -v b=$MATRIX_BLOCK 'BEGIN { print "speed", (40 + k * (1 + b % 3 / 9)) * (1 + b % 3 / 50), "GB/s" }'
metric = regex:speed ([0-9.]+)
unit = GB/s
blocks = 8
load = 100%
steal = 100%
effect first = up/flat
effect second = down/flat
[cell flat]
env KNOB = 0
[cell up]
about = turned up, as far as it goes
env KNOB = 4
[cell down]
env KNOB = -4
[cell again]
same = flat
[cell far]
control = negative
require a second knob = false
"""


def path(name):
    return os.path.join(folder, name)


def perf(name, *words):
    tap.succeeds(tool, "perf", *words, "--json", path(name + ".json"))


def report(page, *records):
    tap.succeeds(tool, "report", *(path(r + ".json") for r in records), "-o", path(page + ".html"))


def change(name, source, edit):
    """A record made of another one."""
    with open(path(source + ".json"), encoding="utf-8") as f:
        record = json.load(f)
    edit(record)
    with open(path(name + ".json"), "w", encoding="utf-8") as f:
        json.dump(record, f)


def fail(record):
    record["rows"] = record["rows"][:1]
    record["failed"] = {"size": 262144, "code": "TCPX_EPEERGONE", "cause": "the peer has gone",
                        "sizes_done": 1, "sizes_asked": 4}


def widen(record):
    """Four NICs of known rates, long names, and iterations enough for every percentile."""
    record["nics"] = [{"name": "enp%ds0f0np0" % i, "addr": "10.0.%d.1" % i, "numa": i % 2, "gbps": 25}
                      for i in range(4)]
    for row in record["rows"]:
        row.update(iters=5000, nics=4, per_nic=[
            {"nic": "enp%ds0f0np0" % i, "peer_nic": "enp%ds0f0np0" % i, "bytes": 10 ** 9 * (i + 1),
             "share": (i + 1) / 10, "retransmits": 100 * i} for i in range(4)])


def delay(record):
    """The same at a third of the rate, for three times as long."""
    for point in record["rows"][0]["series"]:
        point["t_s"] *= 3
        point["GBps"] /= 3


def grow(record):
    """A mesh of 16 ranks on hosts with long names, with a pair that failed and one with wrong bytes."""
    mesh, ranks = record["mesh"][0], range(16)
    mesh["ranks"] = [{"rank": i, "host": "gpu-node-%03d.cluster.example" % (i // 2), "local_rank": i % 2,
                      "mem": "cuda:%d" % (i % 2)} for i in ranks]
    mesh["pairs"] = [dict(mesh["pairs"][0], **{"from": a, "to": b, "GBps": 3 + (7 * a + 3 * b) % 16 / 8,
                                               "failed": (a, b) == (3, 5), "wrong": 7 * ((a, b) == (2, 9))})
                     for a in ranks for b in ranks if a != b]
    mesh.update(worst_GBps=3.0, best_GBps=4.875, median_GBps=3.9, worst_from=1, worst_to=3)


def make_pages():
    sweep = "--self", "--baseline", "-b", "64K", "-e", "4M", "--iters", "8"
    perf("sweep", *sweep, "--pairs", "6")
    perf("small", *sweep, "--pairs", "6", "--chunk", "128K")
    perf("lat", "--self", "--baseline", "--lat", "-b", "64", "-e", "64K", "--iters", "200", "--pairs", "3")
    perf("kv", "--self", "--kv", "1000x8K", "--iters", "20")
    perf("mesh", "--mesh", "--ranks", "3", "-b", "256K", "--iters", "8")
    perf("rate", "--self", "-b", "1M", "-e", "1M", "--duration", "1", "--interval", "0.1")
    change("failed", "sweep", fail)
    change("none", "failed", lambda record: record.update(rows=[]))
    change("wide", "sweep", widen)
    change("grid", "mesh", grow)
    for name in ("sweep", "lat", "kv", "mesh", "rate", "failed", "none", "wide", "grid"):
        report(name, name)
    report("two", "sweep", "small")
    change("late", "rate", delay)
    report("rates", "rate", "late")
    report("many", "sweep", "small", "failed", "wide", "kv")
    with open(path("knob.matrix"), "w", encoding="utf-8") as f:
        f.write(STUDY)
    tap.succeeds(tool, "matrix", "run", path("knob.matrix"), "-o", os.path.join(scratch, "study"))
    tap.succeeds(tool, "matrix", "report", os.path.join(scratch, "study"), "-o", os.devnull,
                 "--html", path("matrix.html"))


PAGES = "sweep", "lat", "kv", "mesh", "rate", "rates", "grid", "failed", "none", "wide", "two", "many", "matrix"
BAD = """<!doctype html><meta charset=utf-8><body style="background:#fff;color:#000"><main>
<div style="width:2000px">wide</div><p style="color:#aaa">pale</p>
<div style="width:300px"><svg viewBox="0 0 300 60"><text x="280" y="30">cut off</text><text x="8" y="20">one</text>
<text x="14" y="20">two</text><rect x="0" y="40" width="200" height="20" fill="#555"/><text x="9" y="55">grey</text></svg></div>
<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>–</td></tr></tbody></table>
</main><script>console.error("no")</script>"""


def the_reports_can_be_made():
    make_pages()


def the_check_sees_what_is_bad():
    with open(path("bad.html"), "w", encoding="utf-8") as f:
        f.write(BAD)
    said = window.open(path("bad.html"), 390, 900, False)
    found = "\n".join(window.run(CHECK))
    assert said
    for text in ("the page is", '"pale" has a contrast', '"cut off" leaves', '"one" and "two" overlap',
                 '"grey" in a picture', "column 2 of a table is empty"):
        assert text in found, "not found: %s in\n%s" % (text, found)


def seen(width, dark, media="screen"):
    """What is wrong with any of the pages."""
    wrong = []
    for page in PAGES:
        said = window.open(path(page + ".html"), width, 900, dark, media)
        if keep:
            window.shoot(path("%s-%d%s.png" % (page, width, "-dark" if dark else "")))
        wrong += ["%s.html: %s" % (page, line) for line in said + window.run(CHECK)]
    assert not wrong, "\n".join(wrong[:40])


def a_phone_shows_all_of_them():
    seen(390, False)


def and_in_the_dark():
    seen(390, True)


def so_does_a_screen():
    seen(1200, False)


def also_in_the_dark():
    seen(1200, True)


def paper_has_all_of_it():
    seen(718, False, "print")  # A4 without its margins


def ticks_and_pictures_of_any_figures_are_right():
    window.open(path("lat.html"), 1200, 900, False)
    wrong = window.run(script("plot_check.js"))
    assert not wrong, "\n".join(wrong)


def without_a_script_the_tables_are_there():
    for page in PAGES:
        window.open(path(page + ".html"), 1200, 900, False, scripts=False)
        shown = window.run("""({bare: [...document.querySelectorAll("figure")].filter(f =>
            f.getClientRects().length && !f.innerText.trim()).length, svg: document.querySelectorAll("svg").length,
            tables: document.querySelectorAll("td").length, text: document.body.innerText})""")
        assert not shown["bare"] and not shown["svg"] and shown["tables"], (page, shown)
        assert "Scripts are off" in shown["text"] and "Rate over time" not in shown["text"], (page, shown)


TIP = "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent"


def dot(page, width):
    """The place of the page's first dot that is shown, and its text."""
    window.open(path(page + ".html"), width, 900, False)
    return window.run("""(() => {
        const e = [...document.querySelectorAll("circle")].find(c => c.getClientRects().length);
        e.scrollIntoView({block: "center"});
        const box = e.getBoundingClientRect();
        return {x: box.left + box.width / 2, y: box.top + box.height / 2,
                text: e.querySelector("title").textContent};
    })()""")


def a_value_shows_under_the_pointer():
    at = dot("sweep", 1200)
    window.call("Input.dispatchMouseEvent", type="mouseMoved", x=at["x"] + 6, y=at["y"] + 6)
    assert window.run(TIP) == at["text"], window.run(TIP)


def and_at_a_touch_beside_it():
    at = dot("sweep", 390)
    window.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": at["x"] + 8, "y": at["y"] + 8}])
    window.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert window.run(TIP) == at["text"], window.run(TIP)


def the_record_can_be_saved():
    window.open(path("two.html"), 1200, 900, False)
    saved = window.run("""new Promise(done => {
        URL.createObjectURL = blob => { blob.text().then(done); return "about:blank"; };
        HTMLAnchorElement.prototype.click = () => {};
        document.querySelectorAll(".saves button")[1].click();
    })""")
    with open(path("small.json"), encoding="utf-8") as f:
        assert json.loads(saved) == json.load(f)


def a_failed_run_is_red_and_nowhere_verified():
    window.open(path("failed.html"), 1200, 900, False)
    page = window.run("({title: document.title, h1: document.querySelector('h1').className, "
                      "good: document.querySelectorAll('.good').length, text: document.body.innerText})")
    assert page["title"].startswith("Failed at 256 KiB"), page["title"]
    assert page["h1"] == "bad" and not page["good"] and "Verified" not in page["text"], page


def the_rate_is_plotted():
    window.open(path("rates.html"), 1200, 900, False)
    plot = window.run("""(() => {
        const e = [...document.querySelectorAll("svg[aria-label='Rate over time']")];
        return e.map(s => s.querySelectorAll("polyline").length);
    })()""")
    assert plot == [2, 2], plot # wide and narrow, two lines each


window = None
try:
    window = browser.Browser(scratch)
    tap.run([the_reports_can_be_made, the_check_sees_what_is_bad, a_phone_shows_all_of_them, and_in_the_dark,
             so_does_a_screen, also_in_the_dark, paper_has_all_of_it, ticks_and_pictures_of_any_figures_are_right,
             without_a_script_the_tables_are_there, a_value_shows_under_the_pointer, and_at_a_touch_beside_it,
             the_record_can_be_saved, the_rate_is_plotted, a_failed_run_is_red_and_nowhere_verified])
finally:
    if window:
        window.close()
    shutil.rmtree(scratch, ignore_errors=True)
