"""A spout of words."""
import itertools
import time

import multilang

multilang.greet()
numbers = itertools.count()
while True:
    command = multilang.read()
    if isinstance(command, dict) and command.get("command") == "next":
        n = next(numbers)
        multilang.send({"command": "emit", "id": n, "tuple": ["word-%d" % (n % 10)], "need_task_ids": False})
        time.sleep(0.01)
    multilang.send({"command": "sync"})
