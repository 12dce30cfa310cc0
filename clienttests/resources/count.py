"""A bolt that counts words and emits each of them again."""
import collections

import multilang

multilang.greet()
counts = collections.Counter()
while True:
    message = multilang.read()
    if isinstance(message, list):
        continue  # task ids
    if message.get("stream") == "__heartbeat":
        multilang.send({"command": "sync"})
        continue
    word = message["tuple"][0]
    counts[word] += 1
    multilang.send({"command": "emit", "anchors": [message["id"]], "tuple": [word], "need_task_ids": False})
    multilang.send({"command": "ack", "id": message["id"]})
