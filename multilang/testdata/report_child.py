# Children as those that public reports are about: report_child.py WAY.
import os
import sys
import time

from wire import ack, emit, greet, read, send, tuples

way = sys.argv[1]


def settles_twice():
    greet()
    for m in tuples():
        ack(m)
        ack(m)
        send({"command": "fail", "id": m["id"]})
        emit(["late", 1], anchors=[m["id"]])


def without_heartbeats():
    # Made for a Storm that had none: it drops what it does not know.
    greet()
    while True:
        m = read()
        if m["stream"] != "__heartbeat":
            ack(m)


def heartbeats_as_inputs():
    greet()
    while True:
        m = read()
        emit(["got", 1], anchors=[m["id"]])
        ack(m)


def silent():
    # Neither acks nor emits: only heartbeats tell that it lives.
    greet()
    n = 0
    for m in tuples():
        time.sleep(0.03)
        n += 1
        if n == 30:
            emit(["done", n])


def slow():
    greet()
    for m in tuples():
        time.sleep(0.02)
        ack(m)


def dot_net():
    # With a byte order mark, the line ends of Windows, and in small pieces.
    mark = b"\xef\xbb\xbf"
    greeting = read()
    os.write(1, mark + b'{"pid":%d}\r\nend\r\n' % os.getpid())
    for m in tuples():
        text = '{"command":"emit","anchors":[%s],"tuple":["\u00fc\U0001f600",1],"need_task_ids":false}\r\nend\r\n' % m["id"]
        for b in text.encode():
            os.write(1, bytes([b]))
        os.write(1, mark + b'{"command":"ack","id":"%s"}\r\nend\r\n' % m["id"].encode())


def msgpack():
    read()
    os.write(1, b"\x82\xa7command\xa5error\xa3msg\xa1x")
    sys.exit(1)


def without_end():
    greet()
    for m in tuples():
        os.write(1, b'{"command":"ack","id":"%s"}\n' % m["id"].encode())
        time.sleep(1000)


def logs():
    greet()
    for m in tuples():
        send({"command": "log", "msg": "without"})
        send({"command": "log", "msg": "named", "level": "error"})
        send({"command": "metrics", "name": "nobody registered it", "params": {"a": 1}})
        print("to standard error", file=sys.stderr, flush=True)
        emit(m["tuple"])
        ack(m)


def environment():
    greet()
    for m in tuples():
        emit([os.environ["PATH"], len(os.environ.get("PYTHONIOENCODING", ""))])
        ack(m)


def odd_spout():
    greet()
    n = 0
    while True:
        m = read()
        if m["command"] == "next" and n < 3:
            n += 1
            what = [
                {"stream": "nowhere", "tuple": ["", 1]},
                {"tuple": [""]},
                {"tuple": [float("inf"), 1]},
            ][n - 1]
            send({"command": "emit", "id": {"n": n}, "need_task_ids": False, **what})
        elif m["command"] == "fail":
            send({"command": "log", "msg": "failed %r" % m["id"]})
        send({"command": "sync"})


def old_spout():
    # Knows neither activate nor deactivate, and does not answer them.
    greet()
    n = 0
    while True:
        m = read()
        if m["command"] == "next":
            emit(["next", n])
            n += 1
        if m["command"] in ("next", "ack", "fail"):
            send({"command": "sync"})


globals()[way]()
