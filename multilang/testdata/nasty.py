# Children that misbehave, each in its own way: nasty.py WAY.
import os
import signal
import sys
import time

from wire import ack, emit, greet, read, send, tuples

way = sys.argv[1]


def remember(pid):
    with open(os.environ["PIDS"], "a") as f:
        f.write("%d\n" % pid)


def forever():
    while True:
        time.sleep(1000)


def killed():
    greet()
    remember(os.getpid())
    for i, m in enumerate(tuples()):
        if i == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        ack(m)


def spins():
    greet()
    remember(os.getpid())
    for _ in tuples():
        while True:
            pass


def forks():
    # Two descendants keep the pipes open; one leaves the process group.
    greet()
    for leave in (False, True):
        pid = os.fork()
        if pid == 0:
            if leave:
                os.setsid()
            forever()
        remember(pid)
    for m in tuples():
        ack(m)
        sys.stderr.write("the last words\n")
        sys.stderr.flush()
        os._exit(0)


def loud():
    for i in range(40000):
        sys.stderr.write("%05d %s\n" % (i, "x" * 90))
    sys.stderr.flush()
    plain()


def plain():
    greet()
    for m in tuples():
        ack(m)


def endless():
    greet()
    remember(os.getpid())
    while True:
        sys.stdout.write("x" * 65536)


def large():
    greet()
    for m in tuples():
        assert m["tuple"][0] == "ü" * 150000, len(m["tuple"][0])
        emit([m["tuple"][0], 1], anchors=[m["id"]])
        ack(m)


def leaves():
    greet()
    for i, m in enumerate(tuples()):
        if i == 2:
            sys.exit(0)
        ack(m)


def stays():
    # Neither the end of its input nor SIGTERM makes it go.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    greet()
    remember(os.getpid())
    try:
        plain_loop()
    except SystemExit:
        forever()


def plain_loop():
    for m in tuples():
        ack(m)


def prints():
    print("a banner")
    greet()
    for m in tuples():
        print("debug:", m["tuple"])
        print("no line end", end="")
        ack(m)
        print("Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'")


def asks():
    # Waits for the tasks of each emission, while tuples come.
    greet()
    waiting = []
    n = 0

    def ids():
        while True:
            m = read()
            if isinstance(m, list):
                return m
            waiting.append(m)

    while True:
        m = waiting.pop(0) if waiting else read()
        if m.get("stream") == "__heartbeat":
            send({"command": "sync"})
            continue
        for i in range(3):
            send({"command": "emit", "tuple": [m["tuple"][0], n], "anchors": [m["id"]]})
            assert ids() == [2, 3]
            n += 1
        ack(m)


def asks_late():
    # Asks many times before it reads any answer.
    greet()
    for m in tuples():
        n = 20000
        for i in range(n):
            send({"command": "emit", "tuple": ["", i]})
        while n > 0:
            if isinstance(read(), list):
                n -= 1
        ack(m)


def holds():
    # Keeps everything until it has 1000.
    greet()
    held = []
    for m in tuples():
        held.append(m)
        if len(held) == 1000:
            for h in held:
                ack(h)
            held = []


def mute():
    remember(os.getpid())
    forever()


def odd():
    # Says what cannot be carried, and what makes no sense.
    greet()
    for m in tuples():
        what = m["tuple"][0]
        if what == "nan":
            emit(["", float("nan")], anchors=[m["id"]])
            ack(m)
        elif what == "stream":
            emit(["", 1], stream="nowhere", anchors=[m["id"]])
        elif what == "arity":
            emit([""], anchors=m["id"])
        elif what == "ack":
            send({"command": "ack", "id": "999"})
            ack(m)
        elif what == "command":
            send({"command": "fly"})
            ack(m)
        elif what == "syntax":
            sys.stdout.write('{"command": "emit", oops}\nend\n')
            ack(m)


def says():
    greet()
    for m in tuples():
        send({"command": "log", "msg": "héllo", "level": 3})
        send({"command": "error", "msg": "it is \U0001f600"})
        send({"command": "metrics", "name": "m", "params": [1, 2.5]})
        send({"command": "emit", "tuple": [5], "stream": "other", "task": 3})
        send({"command": "fail", "id": m["id"]})


def measures():
    greet()
    for m in tuples():
        word = m["tuple"][0]
        if word == "die":
            print("dying", file=sys.stderr, flush=True)
            os._exit(3)
        print("a stray", flush=True)
        send({"command": "metrics", "name": "heat", "params": len(word) + 0.5})
        ack(m)


def state():
    greet(stormring=["state"])
    waiting = []

    def get(key):
        send({"command": "state", "op": "get", "key": key})
        while True:
            m = read()
            if "state" in m:
                return m
            waiting.append(m)

    while True:
        m = waiting.pop(0) if waiting else read()
        if "checkpoint" in m:
            send({"command": "checkpointed", "txid": m["txid"]})
            continue
        if m.get("stream") == "__heartbeat":
            send({"command": "sync"})
            continue
        word = m["tuple"][0]
        if word == "die":
            sys.exit(3)
        r = get(word)
        assert r["state"] == word
        n = r["value"]["n"] + 1 if r["found"] else 1
        send({"command": "state", "op": "put", "key": word, "value": {"n": n, "f": 1.0}})
        send({"command": "state", "op": "delete", "key": "gone"})
        emit([word, n], anchors=[m["id"]])
        ack(m)


globals()[way]()
