const storm = require('./storm');

const IDS = ['s', 1, 2.5, { a: [null] }, [1]];

class Tester extends storm.Spout {
  constructor() {
    super();
    this.n = 0;
  }

  nextTuple(done) {
    const n = this.n++;
    if (n < IDS.length) {
      this.emit({ tuple: ['next', n], id: IDS[n] }, () => done());
    } else if (n === 5) {
      this.emitDirect({ task: 3, tuple: ['d'], stream: 'straight', id: 'direct' });
      done();
    } else if (n === 6) {
      this.emit({ tuple: ['free', n] }, (ids) => {
        this.emit({ tuple: [ids], stream: 'other' }, () => done());
      });
    } else {
      done();
    }
  }

  ack(id, done) {
    this.log('acked ' + JSON.stringify(id));
    done();
  }

  fail(id, done) {
    this.log('failed ' + JSON.stringify(id));
    this.emit({ tuple: ['again', 0], id: id }, () => done());
  }

  activate(done) {
    this.log('active');
    done();
  }

  deactivate(done) {
    this.log('inactive');
    done();
  }
}

new Tester().run();
