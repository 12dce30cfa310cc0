import logging
import os
import sys

from pystorm import Bolt


class Tester(Bolt):
    exit_on_exception = "stay" not in sys.argv
    auto_ack = auto_anchor = auto_fail = "manual" not in sys.argv

    def initialize(self, conf, context):
        self.kept = []
        self.log("of %s, task %d, said %s, field %s" % (
            self.component_name, self.task_id, conf["test.word"], context["source->stream->fields"]["in"]["default"][0]))

    def process_tick(self, tup):
        self.emit(["tick"], stream="other")

    def process(self, tup):
        getattr(self, tup.values.op)(tup, tup.values.arg)

    def echo(self, tup, arg):
        self.emit(["echo", arg])

    def ids(self, tup, arg):
        tasks = [self.emit(["ids", n], need_task_ids=True) for n in range(arg)]
        self.emit([tasks], stream="other")

    def direct(self, tup, arg):
        got = self.emit([arg], stream="straight", direct_task=3, need_task_ids=True)
        self.emit([got], stream="other")

    def keep(self, tup, arg):
        self.kept.append(tup)

    def join(self, tup, arg):
        self.kept.append(tup)
        self.emit(["join", len(self.kept)], anchors=self.kept)
        for t in self.kept:
            self.ack(t)

    def no(self, tup, arg):
        self.fail(tup)

    def say(self, tup, arg):
        self.logger.debug("not sent")
        self.logger.info(arg)
        logging.getLogger("other").error("of another")
        for level in ("trace", "debug", "info", "warn", "error"):
            self.log(arg, level)

    def show(self, tup, arg):
        print(arg)
        sys.stdout.flush()

    def metric(self, tup, arg):
        self.report_metric("size", arg)

    def pid_of(self, tup, arg):
        self.emit([os.getpid()], stream="other")

    def crash(self, tup, arg):
        raise ValueError(arg)


Tester(serializer="msgpack" if "msgpack" in sys.argv else "json").run()
