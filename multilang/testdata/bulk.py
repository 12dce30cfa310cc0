# A fast loop: reads and writes in bulk. With an argument it reads a file of
# tuples without a handshake, for the limit of a pipe.
import json
import os
import sys

enc = json.JSONEncoder(separators=(",", ":")).encode
loads = json.loads
rest = b""
if len(sys.argv) < 2:
    buf = b""
    while not buf.endswith(b"\nend\n"):
        buf += os.read(0, 65536)
    open(os.path.join(loads(buf[:-5])["pidDir"], str(os.getpid())), "w").close()
    os.write(1, b'{"pid":%d}\nend\n' % os.getpid())


def write(b):
    while b:
        b = b[os.write(1, b):]


while True:
    chunk = os.read(0, 65536)
    if not chunk:
        break
    parts = (rest + chunk).split(b"\nend\n")
    rest = parts.pop()
    out = []
    for p in parts:
        m = loads(p)
        if m["stream"] == "__heartbeat":
            out.append('{"command":"sync"}\nend\n')
            continue
        i = m["id"]
        out.append(enc({"command": "emit", "tuple": m["tuple"], "anchors": [i], "need_task_ids": False}) + "\nend\n")
        out.append(enc({"command": "ack", "id": i}) + "\nend\n")
    write("".join(out).encode())
