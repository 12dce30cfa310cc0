# What Storm's own Python module does for a bolt, without task ids: one line
# read and one printed at a time, a flush for each message.
import json
import os
import sys
from collections import deque


class Tuple(object):
    def __init__(self, id, component, stream, task, values):
        self.id = id
        self.component = component
        self.stream = stream
        self.task = task
        self.values = values

    def is_heartbeat(self):
        return self.task == -1 and self.stream == "__heartbeat"


waiting = deque()


def read_message():
    text = ""
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line[0:-1] == "end":
            break
        text = text + line
    return json.loads(text[0:-1])


def send_message(message):
    print(json.dumps(message))
    print("end")
    sys.stdout.flush()


def read_tuple():
    if waiting:
        m = waiting.popleft()
    else:
        m = read_message()
        while isinstance(m, list):
            m = read_message()
    return Tuple(m["id"], m["comp"], m["stream"], m["task"], m["tuple"])


def emit(values, anchors=(), stream=None):
    m = {"command": "emit"}
    if stream is not None:
        m["stream"] = stream
    m["anchors"] = [a.id for a in anchors]
    m["tuple"] = values
    m["need_task_ids"] = False
    send_message(m)


def ack(tup):
    send_message({"command": "ack", "id": tup.id})


def process(tup):
    emit(tup.values, anchors=[tup])
    ack(tup)


hello = read_message()
if hello["pidDir"]:
    open(os.path.join(hello["pidDir"], str(os.getpid())), "w").close()
send_message({"pid": os.getpid()})
while True:
    tup = read_tuple()
    if tup.is_heartbeat():
        send_message({"command": "sync"})
    else:
        process(tup)
