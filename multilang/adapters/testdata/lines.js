'use strict';

const {Spout} = require('./stormring');

class Lines extends Spout {
  initialize(conf, context, done) {
    this.todo = Array.from({length: conf['test.lines']}, (_, i) => i);
    done();
  }

  nextTuple(done) {
    if (this.todo.length > 0) {
      this.emit({tuple: ['the cow jumped over the moon'], id: ['line', this.todo.pop()]});
    }
    done();
  }

  fail(id, done) {
    this.todo.push(id[1]);
    done();
  }
}

new Lines().run();
