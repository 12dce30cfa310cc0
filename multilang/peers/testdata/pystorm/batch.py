import os
import sys

from pystorm import BatchingBolt, TicklessBatchingBolt

TICKLESS = "tickless" in sys.argv


class Batcher(TicklessBatchingBolt if TICKLESS else BatchingBolt):
    exit_on_exception = "stay" not in sys.argv
    ticks_between_batches = 1
    secs_between_batches = 0.2

    def group_key(self, tup):
        return tup.values.op

    def process_batch(self, key, tups):
        if not tups:
            return  # pystorm has it again after another batch failed
        if key == "crash":
            raise ValueError("on purpose")
        self.emit([key, [t.values.arg for t in tups]])


Batcher().run()
