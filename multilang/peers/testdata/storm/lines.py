import storm

TEXT = ["the cow jumped over the moon", "an apple a day"]


class Lines(storm.Spout):
    def initialize(self, conf, context):
        self.todo = list(range(conf["test.lines"]))
        self.left = len(self.todo)
        self.failed = 0

    def nextTuple(self):
        if self.todo:
            n = self.todo.pop(0)
            storm.emit([TEXT[n % 2], n], id=n)
        elif self.left == 0:
            self.left = -1
            storm.emit([self.failed], stream="done")

    def ack(self, id):
        self.left -= 1

    def fail(self, id):
        self.failed += 1
        self.todo.append(id)


Lines().run()
