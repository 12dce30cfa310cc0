import os
import sys

from streamparse import ReliableSpout

from ledger import run_folder


class Lines(ReliableSpout):
    """Reads a file to its end. A line that fails comes again, until it is counted."""

    outputs = ["line", "text"]
    max_fails = sys.maxsize

    def initialize(self, conf, context):
        self.file = enumerate(open(conf["wordcount.input"], encoding="utf-8"), 1)
        self.done = os.path.join(run_folder(conf), "done")
        self.ended = False

    def next_tuple(self):
        number, text = next(self.file, (0, ""))
        if number:
            self.emit([number, text.rstrip("\n")], tup_id=number)
        elif not self.unacked_tuples and not self.ended:
            self.ended = True
            open(self.done, "w").close()
            self.logger.info("All lines are counted.")
