"""Emits each different word of a line, how often it is there, and the line's number."""

from collections import Counter

import stormring


class Split(stormring.BasicBolt):
    def process(self, tup):
        text, line = tup.values
        for word, times in Counter(text.split()).items():
            stormring.emit([word, times, line])


Split().run()
