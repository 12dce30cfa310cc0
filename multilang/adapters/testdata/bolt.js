'use strict';

const {spawnSync} = require('child_process');
const {StatefulBolt, Float} = require('./stormring');

class Tester extends StatefulBolt {
  initialize(conf, context, done) {
    this.emit({tuple: [conf.greeting, context.taskid]});
    done();
  }

  checkpoint(action, txid) { this.log(`${action} ${txid}`); }

  processTick() { this.log('tick'); }

  process(tup) { return this[tup.values[0]](tup, ...tup.values.slice(1)); }

  say(tup, ...values) { this.emit({tuple: values, anchorTupleId: tup.id}); }

  echo(tup, ...values) { this.say(tup, ...values); }

  stream(tup) { this.emit({tuple: ['s'], stream: 'other', anchorTupleId: tup.id}); }

  direct(tup) { this.emitDirect({tuple: ['d'], task: 7, anchorTupleId: tup.id}); }

  anchors(tup) { this.emit({tuple: ['a'], anchors: [tup, '99']}); }

  ids(tup) {
    return new Promise((resolve) => {
      this.emit({tuple: ['x'], anchorTupleId: tup.id}, (ids) => {
        this.say(tup, ids);
        resolve();
      });
    });
  }

  print() {
    console.log('na\u00efve \u2713');
    process.stdout.write('two\nlines');
    process.stdout.write('\n');
  }

  outside() {
    spawnSync('echo', ['from a child'], {stdio: 'inherit'});
    console.log(spawnSync('cat', [], {stdio: ['inherit', 'pipe', 'inherit']}).stdout.length === 0 ? 'True' : 'False');
  }

  logs() {
    this.logTrace('0');
    this.logDebug('1');
    this.logInfo('2');
    this.logWarn('3');
    this.logError('4');
    this.rpcMetrics('m', {n: 1});
    this.reportError('e');
  }

  throw() { throw new Error('on purpose'); }

  nan() { this.emit({tuple: [1, NaN], stream: 'other'}); }

  object() { this.emit({tuple: [1, [() => 1]]}); }

  async remember(tup) {
    const before = await this.state.get('k');
    this.state.put('k', {n: 1});
    this.state.delete('old');
    this.say(tup, before);
  }

  wild() { this.state.put(5, 1); }

  twice(tup) { this.ack(tup); }

  failing(tup) { this.fail(tup); }

  many(tup, n) {
    for (let i = 0; i < n; i++) this.say(tup, i, 'x'.repeat(100));
  }

  leave(tup) {
    this.say(tup, 'bye');
    process.exit(3);
  }

  // Only in JavaScript.

  float(tup) { this.say(tup, new Float(1), new Float(1e30)); }

  rejected() { return Promise.reject(new Error('on purpose')); }
}

new Tester().run();
