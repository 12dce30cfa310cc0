"""Counts the words of a text, exactly, whoever dies meanwhile."""

from streamparse import Grouping, Topology

from bolts.count import Count
from bolts.report import Report
from bolts.split import Split
from spouts.lines import Lines


class WordCount(Topology):
    config = {
        # A file, relative to the resources in the jar, and a folder for results.
        "wordcount.input": "data/snail.txt",
        "wordcount.output": "/tmp/wordcount",
        # Lines that are under way, and words that a bolt may hold until a tick.
        "topology.max.spout.pending": 500,
        "topology.shellbolt.max.pending": 10000,
    }
    ticks = {"topology.tick.tuple.freq.secs": 1}

    lines = Lines.spec()
    split = Split.spec(inputs=[lines], par=2)
    count = Count.spec(inputs={split["words"]: Grouping.fields("word")}, par=2, config=ticks)
    report = Report.spec(inputs={count: Grouping.GLOBAL, split["blank"]: Grouping.GLOBAL}, config=ticks)
