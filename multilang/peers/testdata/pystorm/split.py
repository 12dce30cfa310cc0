import os
import sys

from pystorm import BatchingBolt, Bolt


def once():
    try:
        os.close(os.open("crashed", os.O_CREAT | os.O_EXCL))
        return True
    except OSError:
        return False


class Split(Bolt):
    exit_on_exception = "stay" not in sys.argv

    def process(self, tup):
        if tup.values.n == 7 and once():
            raise RuntimeError("on purpose")
        for word in tup.values.line.split(" "):
            self.emit([word])


class SplitBatch(BatchingBolt):
    def process_batch(self, key, tups):
        if once():
            raise RuntimeError("on purpose")
        for tup in tups:
            for word in tup.values.line.split(" "):
                self.emit([word], anchors=[tup])


(SplitBatch if "batch" in sys.argv else Split)(serializer="msgpack" if "msgpack" in sys.argv else "json").run()
