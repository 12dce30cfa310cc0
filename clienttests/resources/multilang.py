"""The few lines of Storm's multilang protocol that the scripts beside need."""
import json
import os
import sys


def read():
    """One message; ends the program at the end of the input."""
    lines = []
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line.rstrip("\n") == "end":
            return json.loads("\n".join(lines))
        lines.append(line)


def send(message):
    sys.stdout.write(json.dumps(message) + "\nend\n")
    sys.stdout.flush()


def greet():
    """Answers the handshake and returns it."""
    hello = read()
    open(os.path.join(hello["pidDir"], str(os.getpid())), "w").close()
    send({"pid": os.getpid()})
    return hello
