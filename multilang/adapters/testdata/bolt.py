import os
import subprocess
import sys
import threading

import stormring


class Tester(stormring.StatefulBolt):
    def initialize(self, conf, context):
        stormring.emit([conf["greeting"], context["taskid"]])
        self.events = []

    def checkpoint(self, action, txid):
        stormring.log("%s %d" % (action, txid))

    def process_tick(self, tup):
        stormring.log("tick")

    def process(self, tup):
        getattr(self, tup.values[0])(tup, *tup.values[1:])

    def echo(self, tup, *values):
        stormring.emit(values)

    def stream(self, tup):
        stormring.emit(["s"], stream="other")

    def direct(self, tup):
        stormring.emitDirect(7, ["d"])

    def anchors(self, tup):
        stormring.emit(["a"], anchors=[tup, "99"])

    def ids(self, tup):
        ids = stormring.emit(["x"])
        stormring.emit([list(ids)])

    def print(self, tup):
        print("na\u00efve \u2713")
        print("two\nlines", end="")
        print()

    def outside(self, tup):
        subprocess.call(["echo", "from a child"])
        print(sys.stdin.read() == "")

    def logs(self, tup):
        stormring.logTrace("0")
        stormring.logDebug("1")
        stormring.logInfo("2")
        stormring.logWarn("3")
        stormring.logError("4")
        stormring.rpcMetrics("m", {"n": 1})
        stormring.reportError("e")

    def throw(self, tup):
        raise RuntimeError("on purpose")

    def nan(self, tup):
        stormring.emit([1, float("nan")], stream="other")

    def object(self, tup):
        stormring.emit([1, [object()]])

    def remember(self, tup):
        before = self.state.get("k")
        self.state.put("k", {"n": 1})
        self.state.delete("old")
        stormring.emit([before])

    def wild(self, tup):
        self.state.put(5, 1)

    def twice(self, tup):
        stormring.ack(tup)

    def failing(self, tup):
        stormring.fail(tup)

    def many(self, tup, n):
        for i in range(n):
            stormring.emit([i, "x" * 100])

    def leave(self, tup):
        stormring.emit(["bye"])
        sys.exit(3)

    # Only in Python.

    def held(self, tup):
        self.kept = stormring.emit(["held"])
        stormring.emit(["free"])

    def shown(self, tup):
        stormring.emit([list(self.kept)])

    def fork(self, tup):
        pid = os.fork()
        if pid == 0:
            try:
                print("a log line of a copy")
                stormring.emit(["of a copy"])
            except stormring.ProtocolError as e:
                sys.stderr.write("%s\n" % e)
            os._exit(0)
        os.waitpid(pid, 0)

    def thread(self, tup):
        def work():
            print("from a thread")
            try:
                stormring.emit(["of a thread"])
            except stormring.ProtocolError as e:
                print(e)

        t = threading.Thread(target=work)
        t.start()
        t.join()


Tester().run()
