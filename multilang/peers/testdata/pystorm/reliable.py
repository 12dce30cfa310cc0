from pystorm import ReliableSpout


class Tester(ReliableSpout):
    """Emits 1000 tuples at once."""

    def initialize(self, conf, context):
        self.n = 0

    def next_tuple(self):
        while self.n < 1000:
            self.emit(["next", self.n], tup_id=self.n)
            self.n += 1

    def ack(self, tup_id):
        super().ack(tup_id)
        if not self.unacked_tuples:
            self.log("all done")


Tester().run()
