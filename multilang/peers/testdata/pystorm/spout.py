import sys
import time

from pystorm import Spout

IDS = ["s", 1, 2.5, {"a": [None]}, [1]]


class Tester(Spout):
    exit_on_exception = "stay" not in sys.argv

    def initialize(self, conf, context):
        self.n = 0

    def next_tuple(self):
        n, self.n = self.n, self.n + 1
        if n < len(IDS):
            self.emit(["next", n], tup_id=IDS[n])
        elif n == 5:
            self.emit(["d"], stream="straight", direct_task=3, tup_id="direct")
        elif n == 6:
            self.emit([self.emit(["free", n], need_task_ids=True)], stream="other")
        elif n == 7 and "crash" in sys.argv:
            raise ValueError("on purpose")

    def ack(self, tup_id):
        self.log("acked %r" % (tup_id,))

    def fail(self, tup_id):
        self.log("failed %r" % (tup_id,))
        self.emit(["again", 0], tup_id=tup_id)

    def activate(self):
        if "slow" in sys.argv:
            time.sleep(1.5)
        self.log("active")

    def deactivate(self):
        self.log("inactive")


Tester(serializer="msgpack" if "msgpack" in sys.argv else "json").run()
