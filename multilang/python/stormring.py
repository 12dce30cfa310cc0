"""Spouts and bolts in Python for Stormring and for Storm: one file, no dependencies, Python 3.7 or newer.

    import stormring

    class Split(stormring.BasicBolt):
        def process(self, tup):
            for word in tup.values[0].split():
                stormring.emit([word])

    Split().run()

The names are those of Storm's own module, so that this file can also be used
as storm.py. Begin at Bolt and Spout; _Channel is the protocol.

Input is read in large pieces. Output is collected and written when the input
is used up, 2 ms after the last time, or from 64 KiB on; flush() writes it now.
What is printed goes to the worker's log and never into the protocol.
Call these functions from the thread that calls run(); print and log may be
used anywhere.
"""

import collections
import collections.abc
import io
import json
import os
import sys
import threading
import time
import traceback

__all__ = [
    "BasicBolt", "Bolt", "EmitError", "ProtocolError", "Spout", "State", "StateError", "StatefulBolt", "Tuple",
    "ack", "emit", "emitBolt", "emitDirect", "emitManyTuples", "emitSpout", "fail", "flush", "log", "logDebug",
    "logError", "logHandler", "logInfo", "logTrace", "logWarn", "reportError", "rpcMetrics", "state", "sync",
]

END = "\nend\n"
TRACE, DEBUG, INFO, WARN, ERROR = range(5)

_NO_IDS = ',"need_task_ids":false}' + END
_WITH_IDS = "}" + END  # the default of the protocol
_SYNC = '{"command":"sync"}' + END
_FULL = 1 << 16  # characters of output that are written at once
_LATE = 0.002  # seconds that output waits at most while tuples are processed
_LINE = 1 << 16  # characters of a printed line

_quote = json.encoder.encode_basestring_ascii
_scan = json.JSONDecoder().scan_once


class EmitError(ValueError):
    """A value that JSON cannot carry. It says which."""


class ProtocolError(Exception):
    """The parent sent what cannot be understood."""


class StateError(Exception):
    """There is no state, or it could not be read."""


class _ParentGone(SystemExit):
    """The pipes are closed: the way in which all components end."""

    def __init__(self):
        SystemExit.__init__(self, 0)


# ---------------------------------------------------------------- encoding


def _refuse(value):
    raise TypeError("JSON has no %s" % type(value).__name__)


def _make_encoder():
    slow = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_refuse).encode
    try:  # the encoder that json itself makes anew for every call
        fast = json.encoder.c_make_encoder(None, _refuse, _quote, None, ":", ",", False, False, False)
        if "".join(fast([1, "\u00e9", {"a": None}], 0)) == '[1,"\\u00e9",{"a":null}]':
            return lambda value, join="".join, fast=fast: join(fast(value, 0))
    except Exception:  # another interpreter, or a later version
        pass
    return slow


_encode = _make_encoder()


def _encode_tuple(values, stream):
    if isinstance(values, (str, bytes, dict)):
        raise EmitError("a tuple is a list of values, not %s" % type(values).__name__)
    values = list(values)
    try:
        return _encode(values)
    except (TypeError, ValueError, RecursionError):
        pass
    for i, value in enumerate(values):
        try:
            _encode([value])
        except (TypeError, ValueError, RecursionError) as e:
            raise EmitError("value %d on stream %s: %s" % (i, stream or "default", e)) from None
    raise EmitError("the tuple on stream %s cannot be encoded" % (stream or "default"))


# ----------------------------------------------------------------- channel


class _TaskIDs(collections.abc.Sequence):
    """The tasks that an emission went to. The parent is asked for them only
    if somebody looks at them, or could."""

    __slots__ = ("_channel", "_at", "_value", "_asked", "_sent")

    def __init__(self, channel, at, asked):
        self._channel, self._at = channel, at
        self._value, self._asked, self._sent = None, asked, False

    def _get(self):
        if self._value is None:
            self._channel.await_ids(self)
        return self._value

    def __getitem__(self, i):
        return self._get()[i]

    def __len__(self):
        return len(self._get())

    def __eq__(self, other):
        return self._get() == (other._get() if isinstance(other, _TaskIDs) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._get())


class _Answer:
    """What comes back for a question about state."""

    _value = _error = None

    def __init__(self):
        self._done = False


def _references(items, i):
    """How many references to items[i] there are, as far as Python tells."""
    count = getattr(sys, "getrefcount", None)
    return count(items[i]) if count is not None else 0


_UNHELD = _references([object()], 0)  # differs between versions


class _Channel:
    """The two pipes to the parent. Only the thread that made it sends; lines
    for the log may come from others."""

    def __init__(self, fd_in, fd_out):
        self.fd_in, self.fd_out = fd_in, fd_out
        self.thread = threading.get_ident()
        self.rest = bytearray()  # the beginning of a message
        self.text, self.at = "", 0  # whole messages, read up to at
        self.backlog = collections.deque()  # messages that came before an awaited answer
        self.asked = collections.deque()  # whom the next answers are for
        self.out, self.size = [], 0
        self.open = []  # emissions in out whose task ids are or may be wanted
        self.lines = collections.deque()  # for the log, from other threads
        self.flushed = time.monotonic()
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
            os.register_at_fork(after_in_child=self.forked)

    def forked(self):
        """A copy of the process has no part in the protocol."""
        self.thread = None

    def check(self):
        if threading.get_ident() != self.thread:
            if self.thread is None:
                raise ProtocolError("a forked process cannot speak to the parent")
            raise ProtocolError("only the thread that called run() can emit, ack and fail")

    # Output.

    def send(self, text):
        """Sends one or more whole messages, soon."""
        self.check()
        if self.size > _FULL:
            self.flush()
        self.out.append(text)
        self.size += len(text)

    def send_emit(self, head, want):
        """Sends an emission; head is all but its end. want is None if that is
        still to be seen."""
        if want is False:
            self.send(head + _NO_IDS)
            return None
        self.send(head + (_WITH_IDS if want else _NO_IDS))
        ids = _TaskIDs(self, len(self.out) - 1, bool(want))
        self.open.append(ids)
        return ids

    def ask_ids(self, ids):
        at = ids._at
        self.out[at] = self.out[at][: -len(_NO_IDS)] + _WITH_IDS
        ids._asked = True

    def flush(self):
        self.check()
        if self.open:
            self.settle()
        out, self.out, self.size = self.out, [], 0
        while self.lines:
            out.append(self.lines.popleft())
        data = memoryview("".join(out).encode("ascii"))
        try:
            while data:
                data = data[os.write(self.fd_out, data):]
        except (BrokenPipeError, ConnectionResetError):
            raise _ParentGone() from None
        self.flushed = time.monotonic()

    def settle(self):
        """Decides which emissions are to be answered: in a Python that counts
        references also those whose result somebody still holds."""
        emissions, self.open = self.open, []
        for i in range(len(emissions)):
            ids = emissions[i]
            if not ids._asked and _references(emissions, i) > _UNHELD + 1:  # 1 for the local variable
                self.ask_ids(ids)
            ids._sent = True
            if ids._asked:
                self.asked.append(ids)

    def await_ids(self, ids):
        if not ids._asked:
            if ids._sent:
                raise ProtocolError("the emission is sent; pass need_task_ids=True to know its tasks")
            self.ask_ids(ids)
        self.flush()
        while ids._value is None:
            self.step()

    def ask(self, text):
        """Sends a question and waits for its answer."""
        self.send(text)
        self.flush()
        answer = _Answer()
        self.asked.append(answer)
        while not answer._done:
            self.step()
        if answer._error is not None:
            raise StateError(answer._error)
        return answer._value

    def step(self):
        message = self.read()
        if not self.answered(message):
            self.backlog.append(message)

    # Input.

    def next(self):
        """The next message that is no answer."""
        if self.backlog:
            return self.backlog.popleft()
        while True:
            message = self.read()
            if type(message) is dict and ("tuple" in message or "command" in message):
                return message
            if not self.answered(message):
                return message

    def answered(self, message):
        """Hands an answer to whom it is for."""
        if type(message) is list:
            if not self.asked or type(self.asked[0]) is not _TaskIDs:
                raise ProtocolError("task ids that nobody asked for: %r" % message)
            self.asked.popleft()._value = message
            return True
        if "command" not in message and ("value" in message or "error" in message):
            if not self.asked or type(self.asked[0]) is not _Answer:
                raise ProtocolError("an answer about state that nobody asked for")
            answer = self.asked.popleft()
            answer._value, answer._error, answer._done = message.get("value"), message.get("error"), True
            return True
        return False

    def read(self):
        """The next message, whatever it is."""
        if self.at >= len(self.text):
            self.fill()
        try:
            message, at = _scan(self.text, self.at)
            if self.text.startswith(END, at):
                self.at = at + len(END)
                return message
        except (StopIteration, ValueError):
            pass
        # Spaces around it, or no message.
        end = self.text.index(END, self.at)
        text, self.at = self.text[self.at:end], end + len(END)
        try:
            return json.loads(text)
        except ValueError as e:
            raise ProtocolError("cannot read %r: %s" % (text[:400], e)) from None

    def fill(self):
        """Waits for whole messages. What was sent is written before."""
        if self.out or self.lines:
            self.flush()
        rest = self.rest
        while True:
            try:
                data = os.read(self.fd_in, 1 << 18)
            except ConnectionResetError:
                data = b""
            if not data:
                raise _ParentGone()
            seen = max(0, len(rest) - len(END))
            rest += data
            cut = rest.rfind(b"\nend\n", seen)
            if cut >= 0:
                break
        cut += len(END)
        self.flushed = time.monotonic()
        self.text, self.at = rest[:cut].decode("utf-8"), 0
        del rest[:cut]


_channel = None


def _sender():
    if _channel is None:
        raise ProtocolError("not connected: call run() first")
    return _channel


# ------------------------------------------------------------------ prints


class _LogStream(io.TextIOBase):
    """Stands for sys.stdout: each line is a message to the log."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self):
        self._part = ""
        self._lock = threading.RLock()

    def writable(self):
        return True

    def fileno(self):
        return 1

    @property
    def buffer(self):
        return _LogBytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        with self._lock:
            lines = (self._part + text).split("\n")
            self._part = lines.pop()
            if len(self._part) > _LINE:
                lines.append(self._part)
                self._part = ""
            for line in lines:
                log(line)
        return len(text)

    def finish(self):
        with self._lock:
            part, self._part = self._part, ""
            if part:
                log(part)


class _LogBytes(io.RawIOBase):
    def __init__(self, stream):
        self._stream = stream

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        self._stream.write(data.decode("utf-8", "backslashreplace"))
        return len(data)


def _take_pipes():
    """Keeps the pipes to itself: file 1 becomes stderr, for what C libraries
    and child processes print, and file 0 is empty."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    fd_in, fd_out = os.dup(0), os.dup(1)  # not inherited by children
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = open(os.devnull)
    if hasattr(sys.stderr, "reconfigure"):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # integers may have any size
    sys.stdout = _LogStream()
    return _Channel(fd_in, fd_out)


# --------------------------------------------------------------- functions


class Tuple:
    """An input of a bolt. id is a string, component and stream tell where it
    comes from, task from which task, values is a list."""

    __slots__ = ("id", "component", "stream", "task", "values", "settled")

    def __init__(self, id, component, stream, task, values):
        self.id, self.component, self.stream, self.task, self.values = id, component, stream, task, values
        self.settled = False  # acked or failed

    def __repr__(self):
        return "<Tuple component=%r id=%r stream=%r task=%r values=%r>" % (
            self.component, self.id, self.stream, self.task, self.values)

    def is_heartbeat_tuple(self):
        return self.task == -1 and self.stream == "__heartbeat"

    def is_tick_tuple(self):
        return self.component == "__system" and self.stream == "__tick"


_anchor = ""  # of a BasicBolt: what its emissions have while it processes a tuple


def _emit(values, stream, rest, direct, want):
    channel = _channel or _sender()
    head = '{"command":"emit","tuple":' + _encode_tuple(values, stream) + rest
    if stream is not None and stream != "default":
        head += ',"stream":' + _quote(stream)
    if direct is not None:  # its task is known: no answer
        channel.send_emit('%s,"task":%d' % (head, direct), False)
        return [direct]
    return channel.send_emit(head, want)


def _one(id):
    """An id of an input, or of the tuple that has it, as JSON."""
    return _encode(id.id if type(id) is Tuple else id)


def emitBolt(tup, stream=None, anchors=None, directTask=None, need_task_ids=None):
    """Emits from a bolt; anchors are inputs or their ids. The result is a list
    of task ids, for which the parent is asked if it is used. Say need_task_ids
    to be sure: True or False."""
    if anchors is None:
        rest = _anchor
    elif isinstance(anchors, (list, tuple, set, frozenset)):
        rest = ',"anchors":[' + ",".join([_one(a) for a in anchors]) + "]" if anchors else _anchor
    else:
        rest = ',"anchors":[' + _one(anchors) + "]"
    return _emit(tup, stream, rest, directTask, need_task_ids)


def emitSpout(tup, stream=None, id=None, directTask=None, need_task_ids=None):
    """Emits from a spout. id is any JSON value; it comes back in ack or fail."""
    if id is None:
        rest = ""
    else:
        try:
            rest = ',"id":' + _encode(id)
        except (TypeError, ValueError) as e:
            raise EmitError("the id of an emission: %s" % e) from None
    return _emit(tup, stream, rest, directTask, need_task_ids)


_emit_here = emitBolt  # or emitSpout


def emit(*args, **kwargs):
    """emitBolt in a bolt, emitSpout in a spout."""
    return _emit_here(*args, **kwargs)


def emitDirect(task, *args, **kwargs):
    """Emits to one task of a stream that is grouped direct."""
    kwargs["directTask"] = task
    _emit_here(*args, **kwargs)


def emitManyTuples(tuples, *args, **kwargs):
    """Emits each of a list of tuples, with the same stream and anchors."""
    for tup in tuples:
        kwargs["need_task_ids"] = False
        _emit_here(tup, *args, **kwargs)


def _settle(verb, tup):
    id = tup
    if type(tup) is Tuple:
        if tup.settled:
            return
        id, tup.settled = tup.id, True
    (_channel or _sender()).send('{"command":"' + verb + '","id":' + _encode(id) + "}" + END)


def ack(tup):
    """Says that a tuple is processed. A second time does nothing."""
    _settle("ack", tup)


def fail(tup):
    """Says that a tuple could not be processed."""
    _settle("fail", tup)


def log(msg, level=INFO):
    """Writes to the worker's log, from any thread."""
    text = '{"command":"log","msg":%s,"level":%d}%s' % (_quote(str(msg)), level, END)
    channel = _channel
    if channel is None or channel.thread is None:
        sys.stderr.write("%s\n" % msg)
    elif threading.get_ident() == channel.thread:
        channel.send(text)
    else:
        channel.lines.append(text)


def logTrace(msg):
    log(msg, TRACE)


def logDebug(msg):
    log(msg, DEBUG)


def logInfo(msg):
    log(msg, INFO)


def logWarn(msg):
    log(msg, WARN)


def logError(msg):
    log(msg, ERROR)


def logHandler():
    """A handler that brings what the module logging is told to the worker's log."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record):
            try:
                log(self.format(record), min(4, max(0, record.levelno // 10)))
            except Exception:
                self.handleError(record)

    return Handler()


def reportError(msg):
    """Reports an error of this component; it is shown with the topology."""
    _sender().send('{"command":"error","msg":' + _quote(str(msg)) + "}" + END)


def rpcMetrics(name, params):
    """Gives params to the metric of that name that the component registered."""
    _sender().send('{"command":"metrics","name":%s,"params":%s}%s' % (_quote(name), _encode(params), END))


def sync():
    """Answers a heartbeat, or ends the answer of a spout. run() does it."""
    _sender().send(_SYNC)


def flush():
    """Writes now what was emitted, for instance before a long calculation."""
    _sender().flush()


class State:
    """The state of this task: any JSON value by its key, a string. It is there
    if the component has stateful = True and the parent has state."""

    def __init__(self):
        self.available = False

    def _key(self, key):
        if not self.available:
            raise StateError("there is no state: the component needs stateful = True, and a parent that has it")
        if not isinstance(key, str):
            raise StateError("a key is a string, not %s" % type(key).__name__)
        return _quote(key)

    def get(self, key, default=None):
        """The value of key, or default if it has none."""
        value = _sender().ask('{"command":"state","op":"get","key":%s}%s' % (self._key(key), END))
        return default if value is None else value

    def put(self, key, value):
        """Sets the value of key."""
        name = self._key(key)
        try:
            text = _encode(value)
        except (TypeError, ValueError, RecursionError) as e:
            raise StateError("the value of %s: %s" % (name, e)) from None
        _sender().send('{"command":"state","op":"put","key":%s,"value":%s}%s' % (name, text, END))

    def delete(self, key):
        """Forgets key."""
        _sender().send('{"command":"state","op":"delete","key":%s}%s' % (self._key(key), END))


state = State()


# -------------------------------------------------------------- components


def initComponent(wishes=()):
    """Connects to the parent and returns configuration and context. wishes are
    the extensions of the protocol that are asked for if the parent has them."""
    global _channel
    _channel = _take_pipes()
    hello = _channel.next()
    if "pidDir" in hello and hello["pidDir"]:
        open(os.path.join(hello["pidDir"], str(os.getpid())), "w").close()
    offered = hello.get("stormring") or ()
    wishes = [w for w in wishes if w in offered]
    state.available = "state" in wishes
    wish = ',"stormring":' + _encode(wishes) if wishes else ""
    _channel.send('{"pid":%d%s}%s' % (os.getpid(), wish, END))
    _channel.flush()
    return hello.get("conf", {}), hello.get("context", {})


class _Component:
    stateful = False  # True asks for state
    state = state
    _wishes = ()

    def initialize(self, stormconf, context):
        """Called once, before all else."""

    def cleanup(self):
        """Called when the parent has closed the pipes."""

    def run(self):
        """Serves the parent until it closes the pipes."""
        global _emit_here
        _emit_here = self._emitter
        code = 0
        try:
            wishes = self._wishes + (("state",) if self.stateful else ())
            self.initialize(*initComponent(wishes))
            self._serve()
        except _ParentGone:
            # Threads of the component must not keep it alive.
            last = threading.Timer(5, os._exit, [0])
            last.daemon = True
            last.start()
            self.cleanup()
        except SystemExit:
            self._last_words(None)
            raise
        except Exception:
            self._last_words(traceback.format_exc())
            code = 1
        if code:
            sys.exit(code)

    @staticmethod
    def _last_words(error):
        try:
            if _channel is None or _channel.thread is None:
                return
            if error:
                reportError(error)
            if isinstance(sys.stdout, _LogStream):
                sys.stdout.finish()
            _channel.flush()
        except _ParentGone:
            pass
        finally:
            if error:
                sys.stderr.write(error)

    def _command(self, message):
        """What bolts and spouts are both told."""
        command = message.get("command")
        if "checkpoint" in message:
            self.checkpoint(message["checkpoint"], message.get("txid"))
            _channel.send('{"command":"checkpointed","txid":%s}%s' % (_encode(message.get("txid")), END))
        elif command == "activate":
            self.activate()
        elif command == "deactivate":
            self.deactivate()
        else:
            log("a command that this adapter does not know: %.200r" % (message,), DEBUG)

    def checkpoint(self, action, txid):
        """Called for each step of a checkpoint; action is "prepare" before the
        state is saved: put what is only in memory; and "rollback" when it has
        gone back to the last checkpoint: forget what is in memory."""

    def activate(self):
        pass

    def deactivate(self):
        pass

    # The functions of the module, for those who prefer methods.
    ack = staticmethod(ack)
    fail = staticmethod(fail)
    log = staticmethod(log)

    @staticmethod
    def emit(*args, **kwargs):
        return _emit_here(*args, **kwargs)


class Bolt(_Component):
    """Overrides process and acks or fails each tuple itself.

    An exception fails the tuple and is reported; with exit_on_error = True it
    also ends the process, which the parent starts anew."""

    exit_on_error = False
    auto = False  # anchors and acks by itself
    _emitter = staticmethod(emitBolt)

    def process(self, tup):
        raise NotImplementedError("process")

    def process_tick(self, tup):
        """Called for ticks. They are acked."""
        self.process(tup)

    def _serve(self):
        channel, clock, auto = _channel, time.monotonic, self.auto
        while True:
            message = channel.next()
            values = message.get("tuple")
            if values is None:
                self._command(message)
                continue
            tup = Tuple(message.get("id"), message.get("comp"), message.get("stream"), message.get("task"), values)
            if tup.task == -1 and tup.stream == "__heartbeat":
                channel.send(_SYNC)
            else:
                self._handle(tup, auto)
            if channel.out and clock() - channel.flushed > _LATE:
                channel.flush()

    def _handle(self, tup, auto):
        global _anchor
        try:
            if auto:
                _anchor = ',"anchors":[' + _encode(tup.id) + "]"
            if tup.is_tick_tuple():
                self.process_tick(tup)
                auto = True
            else:
                self.process(tup)
            if auto:
                ack(tup)
        except Exception as e:
            if isinstance(e, ProtocolError):
                raise
            reportError(traceback.format_exc())
            fail(tup)
            if self.exit_on_error:
                _channel.flush()
                sys.exit(1)
        finally:
            _anchor = ""


class BasicBolt(Bolt):
    """A bolt whose emissions are anchored to the tuple that it processes, and
    which acks that when process returns."""

    auto = True


class StatefulBolt(BasicBolt):
    """A BasicBolt with state: see State."""

    stateful = True


class Spout(_Component):
    """Overrides nextTuple (or next_tuple), ack and fail. An exception is
    reported and ends the process."""

    _emitter = staticmethod(emitSpout)
    _wishes = ("pipeline",)  # commands are answered one by one, however many wait

    def nextTuple(self):
        self.next_tuple()

    def next_tuple(self):
        raise NotImplementedError("nextTuple")

    def ack(self, id):
        pass

    def fail(self, id):
        pass

    def _serve(self):
        channel, clock = _channel, time.monotonic
        while True:
            message = channel.next()
            command = message.get("command")
            if command == "next":
                self.nextTuple()
            elif command == "ack":
                self.ack(message.get("id"))
            elif command == "fail":
                self.fail(message.get("id"))
            elif message.get("stream") == "__heartbeat":
                pass
            else:
                self._command(message)
            channel.send(_SYNC)
            if clock() - channel.flushed > _LATE:
                channel.flush()
