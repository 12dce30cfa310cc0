const storm = require('./storm');

const TEXT = ['the cow jumped over the moon', 'an apple a day'];

class Lines extends storm.Spout {
  initialize(conf, context, done) {
    this.todo = Array.from({ length: conf['test.lines'] }, (_, n) => n);
    this.left = this.todo.length;
    this.failed = 0;
    done();
  }

  nextTuple(done) {
    if (this.todo.length > 0) {
      const n = this.todo.shift();
      this.emit({ tuple: [TEXT[n % 2], n], id: n }, () => done());
    } else if (this.left === 0) {
      this.left = -1;
      this.emit({ tuple: [this.failed], stream: 'done' }, () => done());
    } else {
      done();
    }
  }

  ack(id, done) {
    this.left--;
    done();
  }

  fail(id, done) {
    this.failed++;
    this.todo.push(id);
    done();
  }
}

new Lines().run();
