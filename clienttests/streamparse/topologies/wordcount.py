from streamparse import Grouping, Topology

from bolts.count import Count
from spouts.words import Words


class WordCount(Topology):
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2)
