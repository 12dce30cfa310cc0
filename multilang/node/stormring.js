'use strict';

/**
 * Spouts and bolts in JavaScript for Stormring and for Storm: one file, no
 * dependencies, Node 14 or newer.
 *
 *     const {BasicBolt} = require('./stormring');
 *
 *     class Split extends BasicBolt {
 *       process(tup, done) {
 *         for (const word of tup.values[0].split(' ')) this.emit({tuple: [word], anchorTupleId: tup.id});
 *         done();
 *       }
 *     }
 *
 *     new Split().run();
 *
 * The names are those of Storm's own module, so that this file can also be
 * used as storm.js. Where there is a callback "done", a promise may be returned
 * instead: declare the method without it. Begin at Bolt and Spout; Channel is
 * the protocol.
 *
 * Numbers: integers beyond 2^53 arrive as BigInt and may be emitted as such.
 * JavaScript cannot tell 1.0 from 1; emit new Float(1) where it matters.
 * What is printed goes to the worker's log and never into the protocol.
 */

const fs = require('fs');
const net = require('net');
const path = require('path');
const {StringDecoder} = require('string_decoder');

const END = '\nend\n';
const SYNC = '{"command":"sync"}' + END;
const FULL = 1 << 16; // characters of output that are written at once
const LATE = 2; // milliseconds that output waits at most while tuples are processed
const LINE = 1 << 16; // characters of a printed line
const LEVELS = {TRACE: 0, DEBUG: 1, INFO: 2, WARN: 3, ERROR: 4};

// ---------------------------------------------------------------- encoding

/** A value that JSON cannot carry. It says which. */
class EmitError extends Error {
  get name() { return 'EmitError'; }
}

/** There is no state, or it could not be read. */
class StateError extends Error {
  get name() { return 'StateError'; }
}

/** The parent sent what cannot be understood. */
class ProtocolError extends Error {
  get name() { return 'ProtocolError'; }
}

/** A number that is emitted as a float even if it is whole. */
class Float {
  constructor(value) { this.value = Number(value); }
  valueOf() { return this.value; }
}

function encodeNumber(n) {
  if (!Number.isFinite(n)) throw new EmitError(`JSON has no ${n}`);
  return Object.is(n, -0) ? '-0.0' : String(n);
}

function encodeFloat(n) {
  const s = encodeNumber(n);
  return /[.e]/.test(s) ? s : s + '.0';
}

/** JSON.stringify, but nothing is replaced or left out silently. */
function encode(v) {
  switch (typeof v) {
    case 'string': return JSON.stringify(v);
    case 'number': return encodeNumber(v);
    case 'boolean': return v ? 'true' : 'false';
    case 'bigint': return v.toString();
    case 'object': return v === null ? 'null' : encodeObject(v);
    default: throw new EmitError(`JSON has no ${typeof v}`);
  }
}

function encodeObject(v) {
  if (Array.isArray(v)) {
    let out = '[';
    for (let i = 0; i < v.length; i++) out += (i ? ',' : '') + encode(v[i]);
    return out + ']';
  }
  if (v instanceof Float) return encodeFloat(v.value);
  if (v instanceof Number || v instanceof String || v instanceof Boolean) return encode(v.valueOf());
  if (typeof v.toJSON === 'function' && !Buffer.isBuffer(v)) return encode(v.toJSON());
  if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer || v instanceof Map || v instanceof Set) {
    throw new EmitError(`JSON has no ${v.constructor.name}`);
  }
  const parts = [];
  for (const k of Object.keys(v)) {
    // As JSON.stringify does: a key without a value is none.
    if (v[k] !== undefined) parts.push(JSON.stringify(k) + ':' + encode(v[k]));
  }
  return '{' + parts.join(',') + '}';
}

function encodeTuple(values, stream) {
  if (!Array.isArray(values)) throw new EmitError('a tuple is an array of values');
  let out = '[';
  for (let i = 0; i < values.length; i++) {
    try {
      out += (i ? ',' : '') + encode(values[i]);
    } catch (e) {
      throw new EmitError(`value ${i} on stream ${stream || 'default'}: ${e.message}`);
    }
  }
  return out + ']';
}

// Digits of an integer that a JavaScript number might not hold.
const LONG = /[^.\d]\d{16,}(?![\d.eE])/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const MARK = '\u0000stormring:';

/** JSON.parse, but long integers become BigInt. */
function decode(text) {
  if (!LONG.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || token.length < 16 || /[.eE]/.test(token)) return token;
    return Number.isSafeInteger(Number(token)) ? token : JSON.stringify(MARK + token);
  });
  return JSON.parse(marked, (_, v) => (typeof v === 'string' && v.startsWith(MARK) ? BigInt(v.slice(MARK.length)) : v));
}

// ----------------------------------------------------------------- channel

/** The two pipes to the parent. */
class Channel {
  constructor(fdIn, fdOut) {
    this.fdIn = fdIn;
    this.fdOut = fdOut;
    this.out = '';
    this.flushed = Date.now();
    this.flushing = false; // a flush is due at the end of this turn
    this.asked = []; // whom the next answers are for
    this.rest = []; // the pieces of an unfinished message
    this.tail = ''; // the end of what has come
    this.onMessage = null;
    this.onEnd = null;
    this.decoder = new StringDecoder('utf8');
  }

  /** Sends whole messages: at the end of this turn of the event loop at the latest. */
  send(text) {
    this.out += text;
    if (this.out.length > FULL) {
      this.flush();
    } else if (!this.flushing) {
      this.flushing = true;
      setImmediate(() => { this.flushing = false; this.flush(); });
    }
  }

  flushIfLate() {
    if (this.out && Date.now() - this.flushed >= LATE) this.flush();
  }

  flush() {
    this.flushed = Date.now();
    if (!this.out) return;
    let data = Buffer.from(this.out, 'utf8');
    this.out = '';
    while (data.length > 0) {
      try {
        data = data.subarray(fs.writeSync(this.fdOut, data));
      } catch (e) {
        if (e.code === 'EAGAIN') { // a pipe that does not block: wait a moment
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        } else if (e.code === 'EPIPE' || e.code === 'ECONNRESET') {
          this.end();
          return;
        } else {
          throw e;
        }
      }
    }
  }

  /** The next answer of this kind is for fn. */
  ask(kind, fn) { this.asked.push({kind, fn}); }

  end() {
    const fn = this.onEnd;
    this.onEnd = null;
    if (fn) fn();
  }

  listen() {
    const input = this.fdIn === 0 ? process.stdin : new net.Socket({fd: this.fdIn, readable: true, writable: false});
    input.on('data', (chunk) => this.take(this.decoder.write(chunk)));
    input.on('error', () => this.end());
    input.on('end', () => this.end());
  }

  take(text) {
    const seam = this.tail + text;
    this.rest.push(text);
    this.tail = seam.slice(-(END.length - 1));
    if (!seam.includes(END)) return;
    const all = this.rest.length === 1 ? text : this.rest.join('');
    let from = 0;
    this.flushed = Date.now();
    for (;;) {
      const end = all.indexOf(END, from);
      if (end < 0) break;
      const message = all.slice(from, end);
      from = end + END.length;
      this.handle(message);
    }
    this.rest = from < all.length ? [all.slice(from)] : [];
    this.tail = this.rest.length ? this.rest[0].slice(-(END.length - 1)) : '';
    this.flush();
  }

  handle(text) {
    let message;
    try {
      message = decode(text);
    } catch (e) {
      throw new ProtocolError(`cannot read ${JSON.stringify(text.slice(0, 400))}: ${e.message}`);
    }
    if (Array.isArray(message)) {
      this.answer('task ids', message);
    } else if (message.command === undefined && ('value' in message || 'error' in message)) {
      this.answer('state', message);
    } else {
      this.onMessage(message);
    }
  }

  answer(kind, message) {
    const next = this.asked.shift();
    if (!next || next.kind !== kind) throw new ProtocolError(`${kind} that nobody asked for`);
    next.fn(message);
  }
}

// ------------------------------------------------------------------ prints

/**
 * Keeps a pipe to itself: on Linux file fd becomes one of the instead, for what
 * native modules and child processes read or print. Returns the file to use.
 */
function takePipe(fd, flags, instead) {
  if (process.platform !== 'linux') return fd;
  let own;
  try {
    if (!fs.fstatSync(fd).isFIFO()) return fd;
    own = fs.openSync(`/proc/self/fd/${fd}`, flags);
  } catch (e) {
    return fd;
  }
  fs.closeSync(fd);
  for (const target of instead) {
    try {
      // The new file has the number that has become free.
      fs.openSync(target, fd === 0 ? 'r' : 'a');
      break;
    } catch (e) { /* a socket cannot be opened again */ }
  }
  return own;
}

/** Makes each line that is printed a message to the log. */
function redirectPrints(log) {
  let part = '';
  const decoder = new StringDecoder('utf8');
  process.stdout.write = function write(chunk, encoding, callback) {
    const text = typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk));
    const lines = (part + text).split('\n');
    part = lines.pop();
    if (part.length > LINE) {
      lines.push(part);
      part = '';
    }
    lines.forEach((line) => log(line));
    const fn = typeof encoding === 'function' ? encoding : callback;
    if (typeof fn === 'function') process.nextTick(fn);
    return true;
  };
  return () => {
    if (part) log(part);
    part = '';
  };
}

// -------------------------------------------------------------- components

/**
 * An input of a bolt: id is a string, component and stream tell where it comes
 * from, task from which task, values is an array.
 */
class Tuple {
  constructor(id, component, stream, task, values) {
    this.id = id;
    this.component = component;
    this.stream = stream;
    this.task = task;
    this.values = values;
  }
  isTickTuple() { return this.component === '__system' && this.stream === '__tick'; }
  isHeartbeatTuple() { return this.task === -1 && this.stream === '__heartbeat'; }
}

/** What spouts and bolts have in common. */
function Storm() {}

/** True asks for state. */
Storm.prototype.stateful = false;
Storm.prototype._wishes = [];

/** Called once, before all else. */
Storm.prototype.initialize = function initialize(conf, context, done) { done(); };
/** Called when the parent has closed the pipes. */
Storm.prototype.cleanup = function cleanup() {};
/** Called for each step of a checkpoint; action is "prepare" before the state is
 *  saved: put what is only in memory; and "rollback" when it has gone back to the
 *  last checkpoint: forget what is in memory. */
Storm.prototype.checkpoint = function checkpoint(action, txid, done) { done(); };
Storm.prototype.activate = function activate(done) { done(); };
Storm.prototype.deactivate = function deactivate(done) { done(); };

/** Serves the parent until it closes the pipes. */
Storm.prototype.run = function run() {
  const channel = new Channel(takePipe(0, 'r', ['/dev/null']), takePipe(1, 'w', ['/proc/self/fd/2', '/dev/null']));
  this._channel = channel;
  this._waiting = [];
  const finishPrints = redirectPrints((line) => this.log(line));
  channel.onMessage = (hello) => this._hello(hello);
  channel.onEnd = () => {
    Promise.resolve(this.cleanup()).finally(() => process.exit(0));
  };
  process.on('uncaughtException', (e) => this._die(e));
  process.on('unhandledRejection', (e) => this._die(e));
  process.on('exit', () => {
    finishPrints();
    channel.flush();
  });
  channel.listen();
};

Storm.prototype._hello = function _hello(hello) {
  const channel = this._channel;
  if (hello.pidDir) fs.closeSync(fs.openSync(path.join(hello.pidDir, String(process.pid)), 'w'));
  const offered = hello.stormring || [];
  const wishes = this._wishes.concat(this.stateful ? ['state'] : []).filter((w) => offered.includes(w));
  this.state = new State(channel, wishes.includes('state'));
  const wish = wishes.length ? ',"stormring":' + JSON.stringify(wishes) : '';
  channel.send(`{"pid":${process.pid}${wish}}${END}`);
  channel.flush();
  // What comes before initialize is done has to wait.
  channel.onMessage = (m) => this._waiting.push(m);
  call(this, this.initialize, [hello.conf || {}, hello.context || {}], (e) => {
    if (e) return this._die(e);
    channel.onMessage = (m) => this._receive(m);
    const waiting = this._waiting;
    this._waiting = [];
    waiting.forEach((m) => this._receive(m));
    return undefined;
  });
};

/** Reports an error that nothing can be done about, and ends. */
Storm.prototype._die = function _die(e) {
  const text = textOf(e);
  if (this._channel.onEnd) this.reportError(text);
  process.stderr.write(text + '\n');
  process.exit(1);
};

Storm.prototype._command = function _command(m, done) {
  if (m.checkpoint !== undefined) {
    return call(this, this.checkpoint, [m.checkpoint, m.txid], (e) => {
      if (e) return this._die(e);
      this._send(`{"command":"checkpointed","txid":${encode(m.txid)}}${END}`);
      return done();
    });
  }
  switch (m.command) {
    case 'activate': return call(this, this.activate, [], (e) => (e ? this._die(e) : done()));
    case 'deactivate': return call(this, this.deactivate, [], (e) => (e ? this._die(e) : done()));
    default:
      this.logDebug(`a command that this adapter does not know: ${JSON.stringify(m).slice(0, 200)}`);
      return done();
  }
};

Storm.prototype._send = function _send(text) {
  if (!this._channel) throw new ProtocolError('not connected: call run() first');
  this._channel.send(text);
};

Storm.prototype._emit = function _emit(details, extra, onTaskIds) {
  let text = '{"command":"emit","tuple":' + encodeTuple(details.tuple, details.stream) + extra;
  if (details.stream !== undefined && details.stream !== null && details.stream !== 'default') {
    text += ',"stream":' + JSON.stringify(details.stream);
  }
  const direct = details.task !== undefined && details.task !== null;
  if (direct) text += ',"task":' + encode(details.task);
  if (typeof onTaskIds === 'function' && !direct) {
    this._send(text + '}' + END);
    this._channel.ask('task ids', onTaskIds);
  } else {
    this._send(text + ',"need_task_ids":false}' + END);
    if (typeof onTaskIds === 'function') onTaskIds([details.task]);
  }
};

/**
 * Emits {tuple, stream, id or anchorTupleId or anchors}. The parent is asked
 * for the tasks that it goes to if there is a function that wants them.
 */
Storm.prototype.emit = function emit(details, onTaskIds) { this._emit(details, this._extra(details), onTaskIds); };

/** Emits to details.task, one task of a stream that is grouped direct. */
Storm.prototype.emitDirect = function emitDirect(details) {
  if (details.task === undefined || details.task === null) throw new EmitError('emitDirect needs a task');
  this._emit(details, this._extra(details));
};

/** Writes now what was emitted, for instance before a long calculation. */
Storm.prototype.flush = function flush() { this._channel.flush(); };

/** Writes to the worker's log. */
Storm.prototype.log = function log(msg, level) {
  this._send(`{"command":"log","msg":${JSON.stringify(String(msg))},"level":${level === undefined ? LEVELS.INFO : level}}${END}`);
};
Storm.prototype.logTrace = function logTrace(msg) { this.log(msg, LEVELS.TRACE); };
Storm.prototype.logDebug = function logDebug(msg) { this.log(msg, LEVELS.DEBUG); };
Storm.prototype.logInfo = function logInfo(msg) { this.log(msg, LEVELS.INFO); };
Storm.prototype.logWarn = function logWarn(msg) { this.log(msg, LEVELS.WARN); };
Storm.prototype.logError = function logError(msg) { this.log(msg, LEVELS.ERROR); };

/** Reports an error of this component; it is shown with the topology. */
Storm.prototype.reportError = function reportError(msg) {
  this._send(`{"command":"error","msg":${JSON.stringify(textOf(msg))}}${END}`);
};

/** Gives params to the metric of that name that the component registered. */
Storm.prototype.rpcMetrics = function rpcMetrics(name, params) {
  this._send(`{"command":"metrics","name":${JSON.stringify(name)},"params":${encode(params)}}${END}`);
};

/** Answers a heartbeat, or ends the answer of a spout. run() does it. */
Storm.prototype.sync = function sync() { this._send(SYNC); };

function textOf(e) { return String((e && e.stack) || e); }

/** Calls a method that tells its end by a callback, a promise or, if it has no
 *  parameter for the callback, by returning. */
function call(self, method, args, done) {
  let over = false;
  const once = (e) => {
    if (over) return;
    over = true;
    done(e);
  };
  let result;
  try {
    result = method.call(self, ...args, once);
  } catch (e) {
    once(e || new Error('thrown without a reason'));
    return;
  }
  if (result && typeof result.then === 'function') {
    result.then(() => once(), (e) => once(e || new Error('rejected without a reason')));
  } else if (method.length <= args.length) {
    once();
  }
}

/**
 * Overrides process(tup, done) and acks or fails each tuple itself. An error
 * fails the tuple and is reported.
 *
 * Tuples are processed side by side if process is asynchronous: at most
 * concurrency of them, by default 1 with state and without limit without.
 */
function Bolt() { Storm.call(this); }
Bolt.prototype = Object.create(Storm.prototype);
Bolt.prototype.constructor = Bolt;
Bolt.prototype._auto = false; // acks by itself
Bolt.prototype.concurrency = 0;
Bolt.prototype._running = 0;
Bolt.prototype._looping = false;

Bolt.prototype.process = function process(tup, done) { done(new Error('process is missing')); }; // eslint-disable-line no-unused-vars
/** Called for ticks. They are acked. */
Bolt.prototype.processTick = function processTick(tup, done) { call(this, this.process, [tup], done); };

Bolt.prototype._extra = function _extra(details) {
  let anchors = details.anchors;
  if (anchors === undefined || anchors === null) anchors = details.anchorTupleId;
  if (anchors === undefined || anchors === null) return '';
  if (!Array.isArray(anchors)) anchors = [anchors];
  return ',"anchors":[' + anchors.map((a) => encode(a instanceof Tuple ? a.id : a)).join(',') + ']';
};

/** Says that a tuple is processed. A second time does nothing. */
Bolt.prototype.ack = function ack(tup) { this._settle('ack', tup); };
/** Says that a tuple could not be processed, and reports err if there is one. */
Bolt.prototype.fail = function fail(tup, err) {
  if (err) this.reportError(err);
  this._settle('fail', tup);
};

Bolt.prototype._settle = function _settle(verb, tup) {
  let id = tup;
  if (tup instanceof Tuple) {
    if (tup._settled) return;
    tup._settled = true;
    id = tup.id;
  }
  this._send('{"command":"' + verb + '","id":' + encode(id) + '}' + END);
};

Bolt.prototype._receive = function _receive(m) {
  if (m.stream === '__heartbeat' && m.task === -1) {
    this.sync(); // also while tuples wait: it is alive
    this._channel.flushIfLate();
    return;
  }
  this._waiting.push(m);
  this._loop();
};

Bolt.prototype._loop = function _loop() {
  if (this._looping) return;
  this._looping = true;
  const limit = this.concurrency || (this.stateful ? 1 : Infinity);
  let at = 0; // shift() of a long array is slow
  while (at < this._waiting.length && this._running < limit) {
    const m = this._waiting[at++];
    if (m.tuple === undefined && this._running > 0) { // a command waits for the tuples before it
      at--;
      break;
    }
    this._running++;
    this._begin(m, () => {
      this._running--;
      this._loop();
    });
    this._channel.flushIfLate();
  }
  this._waiting.splice(0, at);
  this._looping = false;
};

Bolt.prototype._begin = function _begin(m, done) {
  if (m.tuple === undefined) {
    this._command(m, done);
    return;
  }
  const tup = new Tuple(m.id, m.comp, m.stream, m.task, m.tuple);
  const tick = tup.isTickTuple();
  call(this, tick ? this.processTick : this.process, [tup], (e) => {
    if (e) {
      this.fail(tup, e);
    } else if (this._auto || tick) {
      this.ack(tup);
    }
    done();
  });
};

/** A bolt whose tuples are acked when process is done. */
function BasicBolt() { Bolt.call(this); }
BasicBolt.prototype = Object.create(Bolt.prototype);
BasicBolt.prototype.constructor = BasicBolt;
BasicBolt.prototype._auto = true;

/** A BasicBolt with state: see State. */
function StatefulBolt() { BasicBolt.call(this); }
StatefulBolt.prototype = Object.create(BasicBolt.prototype);
StatefulBolt.prototype.constructor = StatefulBolt;
StatefulBolt.prototype.stateful = true;

/** Overrides nextTuple(done), ack(id, done) and fail(id, done). An error is
 *  reported and ends the process. */
function Spout() { Storm.call(this); }
Spout.prototype = Object.create(Storm.prototype);
Spout.prototype.constructor = Spout;
Spout.prototype._wishes = ['pipeline']; // commands are answered one by one, however many wait
Spout.prototype._busy = false;

Spout.prototype.nextTuple = function nextTuple(done) { done(new Error('nextTuple is missing')); };
Spout.prototype.ack = function ack(id, done) { done(); };
Spout.prototype.fail = function fail(id, done) { done(); };

Spout.prototype._extra = function _extra(details) {
  return details.id === undefined || details.id === null ? '' : ',"id":' + encode(details.id);
};

Spout.prototype._receive = function _receive(m) {
  this._waiting.push(m);
  this._next();
};

/** Handles the commands that wait, one after the other. */
Spout.prototype._next = function _next() {
  if (this._looping) return;
  this._looping = true;
  while (!this._busy && this._waiting.length > 0) {
    const m = this._waiting.shift();
    this._busy = true;
    this._handle(m, (e) => {
      if (e) this._die(e);
      this.sync();
      this._channel.flushIfLate();
      this._busy = false;
      this._next();
    });
  }
  this._looping = false;
};

Spout.prototype._handle = function _handle(m, done) {
  switch (m.command) {
    case 'next': return call(this, this.nextTuple, [], done);
    case 'ack': return call(this, this.ack, [m.id], done);
    case 'fail': return call(this, this.fail, [m.id], done);
    case undefined: return done(); // a heartbeat
    default: return this._command(m, done);
  }
};

/**
 * The state of this task: any JSON value by its key, a string. It is there if
 * the component is stateful and the parent has state.
 */
class State {
  constructor(channel, available) {
    this._channel = channel;
    this.available = available;
  }

  _key(key) {
    if (!this.available) throw new StateError('there is no state: the component needs stateful = true, and a parent that has it');
    if (typeof key !== 'string') throw new StateError(`a key is a string, not ${typeof key}`);
    return JSON.stringify(key);
  }

  /** A promise of the value of key; null if it has none. */
  get(key) {
    return new Promise((resolve, reject) => {
      this._channel.send(`{"command":"state","op":"get","key":${this._key(key)}}${END}`);
      this._channel.ask('state', (m) => {
        if (m.error !== undefined && m.error !== null) reject(new StateError(m.error));
        else resolve(m.value === undefined ? null : m.value);
      });
    });
  }

  /** Sets the value of key. */
  put(key, value) {
    this._channel.send(`{"command":"state","op":"put","key":${this._key(key)},"value":${encode(value)}}${END}`);
  }

  /** Forgets key. */
  delete(key) {
    this._channel.send(`{"command":"state","op":"delete","key":${this._key(key)}}${END}`);
  }
}

module.exports = {BasicBolt, Bolt, EmitError, Float, LEVELS, ProtocolError, Spout, State, StateError, StatefulBolt, Storm, Tuple};
