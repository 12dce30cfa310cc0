import os

from streamparse import BatchingBolt

from ledger import Ledger, run_folder

BLANK = "(blank lines)"


class Report(BatchingBolt):
    """Writes all counts to a file, one word a line, at each tick that has news."""

    ticks_between_batches = 0

    def initialize(self, conf, context):
        folder = run_folder(conf)
        self.blank = Ledger(folder, "blank")
        self.file = os.path.join(folder, "counts.txt")
        self.counts = {}
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as file:
                for line in file:
                    word, count = line.rstrip("\n").split("\t")
                    self.counts[word] = int(count)

    def group_key(self, tup):
        return tup.stream

    def process_batch(self, stream, tups):
        if stream == "blank":
            self.counts[BLANK] = self.blank.add(BLANK, [(tup.values.line, 1) for tup in tups])
        else:
            for tup in tups:
                # An older count may come again and late.
                self.counts[tup.values.word] = max(tup.values.count, self.counts.get(tup.values.word, 0))
        self.write()

    def write(self):
        new = self.file + ".new"
        with open(new, "w", encoding="utf-8") as file:
            for word, count in sorted(self.counts.items()):
                file.write(f"{word}\t{count}\n")
        os.replace(new, self.file)
