"""Counts words and keeps the counts in its state, which outlives this process.

A line that failed half-way comes again. So a word keeps the numbers of the
lines that it was counted of, as long as these are not settled as a whole; all
lines below the number on stream "settled" are.
"""

import stormring


class Count(stormring.StatefulBolt):
    def initialize(self, conf, context):
        self.settled = self.state.get("settled", 0)

    def process(self, tup):
        if tup.stream == "settled":
            self.settled = tup.values[0]
            self.state.put("settled", self.settled)
            return
        word, times, line = tup.values
        n, lines = self.state.get("word " + word, (0, []))
        if line >= self.settled and line not in lines:
            n += times
            lines = [old for old in lines if old >= self.settled] + [line]
            self.state.put("word " + word, [n, lines])
        stormring.emit([word, n])


Count().run()
