import stormring


class Lines(stormring.Spout):
    def initialize(self, conf, context):
        self.todo = list(range(conf["test.lines"]))

    def nextTuple(self):
        if self.todo:
            n = self.todo.pop()
            stormring.emit(["the cow jumped over the moon"], id=["line", n])

    def fail(self, id):
        self.todo.append(id[1])


Lines().run()
