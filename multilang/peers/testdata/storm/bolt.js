const storm = require('./storm');

class Tester extends storm.BasicBolt {
  constructor() {
    super();
    this.kept = [];
  }

  initialize(conf, context, done) {
    this.log('of ' + context.componentid + ', task ' + context.taskid + ', said ' + conf['test.word']);
    done();
  }

  process(tup, done) {
    if (tup.component === '__system') {
      if (!tup.isTickTuple()) throw new Error('no tick');
      this.emit({ tuple: ['tick'], stream: 'other', anchorTupleId: tup.id }, () => done());
      return;
    }
    const [op, arg] = tup.values;
    this['on_' + op](tup, arg, done);
  }

  on_echo(tup, arg, done) {
    this.emit({ tuple: ['echo', arg], anchorTupleId: tup.id }, () => {});
    done();
  }

  on_ids(tup, arg, done) {
    const tasks = [];
    const got = (ids) => {
      tasks.push(ids);
      if (tasks.length < arg) return;
      this.emit({ tuple: [tasks], stream: 'other', anchorTupleId: tup.id }, () => done());
    };
    for (let n = 0; n < arg; n++) this.emit({ tuple: ['ids', n], anchorTupleId: tup.id }, got);
  }

  on_direct(tup, arg, done) {
    this.emitDirect({ task: 3, tuple: [arg], stream: 'straight', anchorTupleId: tup.id });
    done();
  }

  on_keep(tup, arg, done) {
    this.kept.push([tup, done]);
  }

  on_join(tup, arg, done) {
    this.kept.push([tup, done]);
    this.emit({ tuple: ['join', this.kept.length], anchorTupleId: this.kept.map(([t]) => t.id) }, () => {});
    for (const [, d] of this.kept) d();
    this.kept = [];
  }

  on_log(tup, arg, done) {
    this.logTrace('a');
    this.logDebug('b');
    this.logInfo('c');
    this.logWarn('d');
    this.logError('e', '\u6f22');
    done();
  }

  on_report(tup, arg, done) {
    this.sendMsgToParent({ command: 'error', msg: arg });
    done();
  }

  on_fail(tup, arg, done) {
    done(new Error('on purpose'));
  }

  on_show(tup, arg, done) {
    console.log(arg);
    done();
  }

  on_unanchored(tup, arg, done) {
    this.emit({ tuple: ['unanchored', arg] }, () => done());
  }

  on_crash(tup, arg) {
    throw new TypeError(arg);
  }

  on_wrong(tup, arg, done) {
    this.emit({ tuple: ['only one'], anchorTupleId: tup.id }, () => {});
    this.emit({ tuple: [1], stream: 'nowhere', anchorTupleId: tup.id }, () => done());
  }
}

new Tester().run();
