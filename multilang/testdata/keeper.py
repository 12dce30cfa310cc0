# Children that keep state, each in its own way: keeper.py WAY.
import os
import sys
import time

from wire import greet, read, send

way = sys.argv[1]
waiting = []


def get(key):
    send({"command": "state", "op": "get", "key": key})
    while True:
        m = read()
        if isinstance(m, dict) and "state" in m:
            return m["value"] if m["found"] else 0
        waiting.append(m)


def messages():
    while True:
        m = waiting.pop(0) if waiting else read()
        if m.get("stream") == "__heartbeat":
            send({"command": "sync"})
        else:
            yield m


def counts():
    """Counts in memory and puts the counts at a checkpoint; "gate" waits for a
    file, "die" ends it, "hold" is kept and acked with the next word."""
    n, held = {}, []
    for m in messages():
        if "checkpoint" in m:
            if m["checkpoint"] == "prepare":
                for word in n:
                    send({"command": "state", "op": "put", "key": word, "value": n[word]})
                if "die with it" in n:
                    os._exit(4)
            else:
                send({"command": "log", "msg": "back %d" % m["txid"], "level": 2})
                n = {}
            send({"command": "checkpointed", "txid": m["txid"]})
            continue
        word = m["tuple"][0]
        if word == "die":
            os._exit(3)
        if word == "gate":
            while not os.path.exists(os.environ["GATE"]):
                time.sleep(0.005)
        if word == "fail":
            send({"command": "fail", "id": m["id"]})
            continue
        if word not in n:
            n[word] = get(word)
        n[word] += 1
        if word == "hold":
            held.append(m["id"])
            continue
        emit = {"command": "emit", "tuple": [word, n[word]], "anchors": held + [m["id"]]}
        send(emit if word == "asks" else dict(emit, need_task_ids=False))
        while word == "asks":
            ids = read()
            if isinstance(ids, list):
                send({"command": "log", "msg": "asked and got %r" % ids, "level": 2})
                break
            waiting.append(ids)
        for id in held + [m["id"]]:
            send({"command": "ack", "id": id})
        held = []


def through():
    """Counts in the state; "gate" waits for a file before it begins."""
    for m in messages():
        if "checkpoint" in m:
            send({"command": "checkpointed", "txid": m["txid"]})
            continue
        word = m["tuple"][0]
        if word == "gate":
            while not os.path.exists(os.environ["GATE"]):
                time.sleep(0.005)
        send({"command": "log", "msg": "at " + word, "level": 2})
        n = get("n") + 1
        send({"command": "state", "op": "put", "key": "n", "value": n})
        send({"command": "emit", "tuple": [word, n], "anchors": [m["id"]], "need_task_ids": False})
        send({"command": "ack", "id": m["id"]})


def deaf():
    """Answers everything but checkpoints."""
    for m in messages():
        if "checkpoint" not in m:
            send({"command": "ack", "id": m["id"]})


def muddled():
    """Answers another checkpoint first."""
    for m in messages():
        if "checkpoint" in m:
            send({"command": "checkpointed", "txid": m["txid"] + 1})
            send({"command": "checkpointed", "txid": m["txid"]})


def slow():
    """Is busy for a while, but does something all the time."""
    for m in messages():
        if "checkpoint" in m:
            send({"command": "checkpointed", "txid": m["txid"]})
            continue
        for i in range(10):
            time.sleep(0.05)
            send({"command": "state", "op": "put", "key": "i", "value": i})
        send({"command": "ack", "id": m["id"]})


def eager():
    """Emits, and puts, before it has had any input."""
    send({"command": "emit", "tuple": ["first", get("first") + 1], "need_task_ids": False})
    send({"command": "state", "op": "put", "key": "first", "value": 1})
    for m in messages():
        if "checkpoint" in m:
            send({"command": "checkpointed", "txid": m["txid"]})


greet(stormring=["state"])
globals()[way]()
