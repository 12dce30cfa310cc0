"""A bolt that splits sentences into words, each anchored to its sentence."""
import multilang

multilang.greet()
while True:
    message = multilang.read()
    if isinstance(message, list):
        continue  # task ids
    if message.get("stream") == "__heartbeat":
        multilang.send({"command": "sync"})
        continue
    for word in message["tuple"][0].split(" "):
        multilang.send({"command": "emit", "anchors": [message["id"]], "tuple": [word], "need_task_ids": False})
    multilang.send({"command": "ack", "id": message["id"]})
