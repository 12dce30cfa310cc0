from collections import Counter

from streamparse import Bolt


class Count(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf, context):
        self.counts = Counter()

    def process(self, tup):
        word = tup.values[0]
        self.counts[word] += 1
        self.emit([word, self.counts[word]])
