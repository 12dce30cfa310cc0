# A plain loop, with one line read and one message written at a time. See
# bulk.py.
import json
import os
import sys

import wire

if len(sys.argv) < 2:
    wire.greet()
for m in wire.tuples():
    wire.emit(m["tuple"], anchors=[m["id"]])
    wire.ack(m)
