import stormring


class Echo(stormring.BasicBolt):
    def process(self, tup):
        stormring.emit(tup.values)


Echo().run()
