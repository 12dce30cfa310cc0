import storm

IDS = ["s", 1, 2.5, {"a": [None]}, [1]]


class Tester(storm.Spout):
    def initialize(self, conf, context):
        self.n = 0

    def nextTuple(self):
        n, self.n = self.n, self.n + 1
        if n < len(IDS):
            storm.emit(["next", n], id=IDS[n])
        elif n == 5:
            storm.emitDirect(3, ["d"], stream="straight", id="direct")
        elif n == 6:
            storm.emit([storm.emit(["free", n])], stream="other")

    def ack(self, id):
        storm.logInfo("acked %r" % (id,))

    def fail(self, id):
        storm.logInfo("failed %r" % (id,))
        storm.emit(["again", 0], id=id)

    def activate(self):
        storm.logInfo("active")

    def deactivate(self):
        storm.logInfo("inactive")


Tester().run()
