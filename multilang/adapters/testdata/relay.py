import stormring


class Relay(stormring.BasicBolt):
    stateful = True  # it keeps nothing, but is part of checkpoints

    def process(self, tup):
        for word in tup.values[0].split():
            stormring.emit([word])


Relay().run()
