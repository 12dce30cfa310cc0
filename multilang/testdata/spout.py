# A spout: spout.py WAY.
import os
import sys
import time

from wire import greet, read, send

way = sys.argv[1]
hello = greet(**({"stormring": ["pipeline"]} if way == "pipeline" else {}))
n = 0
alive = 0
while True:
    m = read()
    c = m["command"]
    if c == "next":
        if way == "hangs":
            time.sleep(1000)
        if way == "dies" and n == 3:
            os._exit(4)
        if n < 5:
            # Ids of any kind.
            id = [n, str(n), {"n": n}, [n, 1.0], n + 0.5][n]
            send({"command": "emit", "tuple": [c, n], "id": id, "need_task_ids": way == "asks"})
            if way == "asks":
                r = read()
                assert r == [2, 3], r
            n += 1
    else:
        # A comment that the test sees.
        send({"command": "log", "msg": "%s %r" % (c, m.get("id"))})
    send({"command": "sync"})
