import itertools

from streamparse import Spout


class Words(Spout):
    outputs = ["word"]

    def initialize(self, conf, context):
        self.words = itertools.cycle(["dog", "cat", "zebra"])

    def next_tuple(self):
        self.emit([next(self.words)])
