"""Emits the words of each line."""

import stormring


class Split(stormring.BasicBolt):
    def process(self, tup):
        for word in tup.values[0].split():
            stormring.emit([word])


Split().run()
