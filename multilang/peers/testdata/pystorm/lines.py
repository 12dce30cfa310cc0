import sys

from pystorm import ReliableSpout

TEXT = ["the cow jumped over the moon", "an apple a day"]


class Lines(ReliableSpout):
    def initialize(self, conf, context):
        self.todo = list(range(conf["test.lines"]))
        self.failures = 0
        self.over = False

    def next_tuple(self):
        if self.todo:
            n = self.todo.pop(0)
            self.emit([TEXT[n % 2], n], tup_id=n)
        elif not self.unacked_tuples and not self.over:
            self.over = True
            self.emit([self.failures], stream="done", tup_id="done")

    def fail(self, tup_id):
        self.failures += 1
        super().fail(tup_id)


Lines(serializer="msgpack" if "msgpack" in sys.argv else "json").run()
