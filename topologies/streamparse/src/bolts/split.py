import re
from collections import Counter

from streamparse import Bolt, Stream

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def words(text):
    """The words of a text, which may be joined by apostrophes."""
    return WORD.findall(text.lower())


class Split(Bolt):
    """Emits each word of a line once, with how often the line has it.

    Lines without words go to a stream of their own.
    """

    outputs = [Stream(["word", "line", "times"], name="words"), Stream(["line"], name="blank")]

    def process(self, tup):
        line = tup.values.line
        found = Counter(words(tup.values.text))
        for word, times in found.items():
            self.emit([word, line, times], stream="words")
        if not found:
            self.emit([line], stream="blank")
