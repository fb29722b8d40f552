# SPDX-License-Identifier: Apache-2.0
"""iperf3.py DOCUMENT [RESULT]: reads what `iperf3 -J` prints, as programs do that plot it, and
compares it with our result, if there is one."""
import json
import sys


def check(what, true):
    if not true:
        sys.exit("%s: %s" % (sys.argv[1], what))


def sums(figures, what):
    for name in ("start", "end", "seconds", "bytes", "bits_per_second", "sender"):
        check("%s has no %s" % (what, name), name in figures)
    rate = figures["bytes"] * 8 / figures["seconds"]
    # of a stream iperf3 gives its receiver the sender's seconds
    check("%s: the rate is not that of its bytes" % what,
          abs(figures["bits_per_second"] - rate) <= 0.02 * rate)


def read(doc):
    start, end = doc["start"], doc["end"]
    check("version", isinstance(start["version"], str))
    check("time", start["timestamp"]["timesecs"] > 0 and start["timestamp"]["time"])
    check("streams", len(start["connected"]) % start["test_start"]["num_streams"] == 0)
    check("protocol", start["test_start"]["protocol"] == "TCP")
    for name in ("sum_sent", "sum_received"):
        sums(end[name], name)
    check("retransmits", end["sum_sent"]["retransmits"] >= 0)
    at = 0
    for one in doc["intervals"]:
        sums(one["sum"], "interval")
        check("intervals follow each other", abs(one["sum"]["start"] - at) < 1e-3)
        at = one["sum"]["end"]
        for stream in one["streams"]:
            sums(stream, "stream of an interval")
    for stream in end["streams"]:
        sums(stream["sender"], "sender")
        sums(stream["receiver"], "receiver")
        check("retransmits", stream["sender"]["retransmits"] >= 0)
    check("no error", "error" not in doc)


def compare(doc, row):
    size = row["size"] * row["iters"]
    sent, received = doc["end"]["sum_sent"], doc["end"]["sum_received"]
    ours, theirs = (received, sent) if row["op"] == "read" else (sent, received)
    check("bytes", sent["bytes"] == received["bytes"] == size)
    check("speed", abs(ours["bits_per_second"] / 8e9 / row["algbw_GBps"] - 1) < 1e-6)
    check("of the other side", abs(theirs["bits_per_second"] / 8e9 / row["peer_algbw_GBps"] - 1) < 1e-6)
    check("intervals", sum(i["sum"]["bytes"] for i in doc["intervals"]) == size)
    check("their end", abs(doc["intervals"][-1]["sum"]["end"] - ours["end"]) < 1e-6)
    check("direction", sent["sender"] == (row["op"] != "read"))
    check("both ways", ("sum_sent_bidir_reverse" in doc["end"]) == (row["dir"] == "bi"))


with open(sys.argv[1]) as f:
    document = json.load(f)
read(document)
if len(sys.argv) > 2:
    with open(sys.argv[2]) as f:
        compare(document, json.load(f)["rows"][0])
