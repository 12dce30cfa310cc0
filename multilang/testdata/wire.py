# A bolt's or spout's side of the shell protocol, for the tests: plain and slow.
import json
import os
import sys


def read():
    lines = []
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line == "end\n":
            return json.loads("".join(lines))
        lines.append(line)


def send(msg):
    sys.stdout.write(json.dumps(msg) + "\nend\n")
    sys.stdout.flush()


def greet(**more):
    hello = read()
    open(os.path.join(hello["pidDir"], str(os.getpid())), "w").close()
    send({"pid": os.getpid(), **more})
    return hello


def tuples():
    """Yields tuples, and answers heartbeats."""
    while True:
        m = read()
        if isinstance(m, dict) and m.get("stream") == "__heartbeat":
            send({"command": "sync"})
            continue
        yield m


def emit(values, **more):
    send({"command": "emit", "tuple": values, "need_task_ids": False, **more})


def ack(m):
    send({"command": "ack", "id": m["id"]})
