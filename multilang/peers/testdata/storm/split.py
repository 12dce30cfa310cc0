import os
import sys
import storm


def once():
    try:
        os.close(os.open("crashed", os.O_CREAT | os.O_EXCL))
        return True
    except OSError:
        return False


class Split(storm.Bolt):
    def process(self, tup):
        line, n = tup.values
        if n == 7 and once():
            raise RuntimeError("on purpose")
        for word in line.split(" "):
            storm.emit([word], anchors=[tup])
        storm.ack(tup)


class SplitBasic(storm.BasicBolt):
    def process(self, tup):
        line, n = tup.values
        if n == 7 and once():
            raise RuntimeError("on purpose")
        for word in line.split(" "):
            storm.emit([word])


(SplitBasic if "basic" in sys.argv else Split)().run()
