from streamparse import BatchingBolt

from ledger import Ledger, run_folder


class Count(BatchingBolt):
    """Counts what has come since the last tick, in one batch for each word."""

    outputs = ["word", "count"]
    ticks_between_batches = 0

    def initialize(self, conf, context):
        self.ledger = Ledger(run_folder(conf), f"count-{self.task_id}")

    def group_key(self, tup):
        return tup.values.word

    def process_batch(self, word, tups):
        count = self.ledger.add(word, [(tup.values.line, tup.values.times) for tup in tups])
        # It is anchored to all lines of the batch: they are done when the
        # count is in the report.
        self.emit([word, count])
