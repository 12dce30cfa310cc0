import stormring


class Count(stormring.StatefulBolt):
    def process(self, tup):
        word = tup.values[0]
        n = self.state.get(word, 0) + 1
        self.state.put(word, n)
        stormring.emit([word, n])


Count().run()
