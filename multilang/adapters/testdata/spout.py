import stormring


class Tester(stormring.Spout):
    def initialize(self, conf, context):
        self.n = 0

    def nextTuple(self):
        self.n += 1
        if self.n == 4:
            raise RuntimeError("on purpose")
        stormring.emit(["n", self.n], id={"n": self.n})

    def ack(self, id):
        stormring.log("acked %d" % id["n"])

    def fail(self, id):
        stormring.log("failed %d" % id["n"])

    def activate(self):
        stormring.log("active")

    def deactivate(self):
        stormring.log("inactive")


Tester().run()
