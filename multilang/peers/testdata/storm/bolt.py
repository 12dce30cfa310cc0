import storm


class Tester(storm.Bolt):
    def initialize(self, conf, context):
        self.kept = []
        storm.log("of %s, task %d, said %s" % (context["componentid"], context["taskid"], conf["test.word"]))

    def process(self, tup):
        if tup.component == "__system":
            storm.emit(["tick"], stream="other", anchors=[tup])
            return storm.ack(tup)
        op, arg = tup.values
        getattr(self, op)(tup, arg)

    def echo(self, tup, arg):
        storm.emit(["echo", arg], anchors=[tup])
        storm.ack(tup)

    def ids(self, tup, arg):
        tasks = [storm.emit(["ids", n], anchors=[tup]) for n in range(arg)]
        storm.emit([tasks], stream="other", anchors=[tup])
        storm.ack(tup)

    def direct(self, tup, arg):
        storm.emitDirect(3, [arg], stream="straight", anchors=[tup])
        storm.ack(tup)

    def keep(self, tup, arg):
        self.kept.append(tup)

    def join(self, tup, arg):
        self.kept.append(tup)
        storm.emit(["join", len(self.kept)], anchors=self.kept)
        for t in self.kept:
            storm.ack(t)
        self.kept = []

    def log(self, tup, arg):
        storm.logTrace("a")
        storm.logDebug("b")
        storm.logInfo("c")
        storm.logWarn("d")
        storm.logError(u"e \u6f22")
        storm.ack(tup)

    def report(self, tup, arg):
        storm.reportError(arg)
        storm.ack(tup)

    def fail(self, tup, arg):
        storm.fail(tup)

    def show(self, tup, arg):
        print(arg)
        storm.ack(tup)

    def unanchored(self, tup, arg):
        storm.emit(["unanchored", arg])
        storm.ack(tup)

    def metric(self, tup, arg):
        storm.rpcMetrics("size", arg)
        storm.ack(tup)

    def crash(self, tup, arg):
        raise ValueError(arg)

    def nan(self, tup, arg):
        storm.emit(["nan", [float("nan")]], anchors=[tup])
        storm.ack(tup)

    def wrong(self, tup, arg):
        storm.emit(["only one"], anchors=[tup])
        storm.emit([1], stream="nowhere", anchors=[tup])
        storm.ack(tup)


Tester().run()
