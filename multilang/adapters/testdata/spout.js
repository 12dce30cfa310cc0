'use strict';

const {Spout} = require('./stormring');

// As it was written before there were classes.
function Tester() {
  Spout.call(this);
  this.n = 0;
}
Tester.prototype = Object.create(Spout.prototype);
Tester.prototype.constructor = Tester;

Tester.prototype.nextTuple = function nextTuple(done) {
  this.n++;
  setTimeout(() => {
    if (this.n === 4) {
      done(new Error('on purpose'));
      return;
    }
    this.emit({tuple: ['n', this.n], id: {n: this.n}});
    done();
  }, 1);
};
Tester.prototype.ack = function ack(id, done) {
  this.log(`acked ${id.n}`);
  done();
};
Tester.prototype.fail = function fail(id, done) {
  this.log(`failed ${id.n}`);
  done();
};
Tester.prototype.activate = function activate() { this.log('active'); };
Tester.prototype.deactivate = function deactivate() { this.log('inactive'); };

new Tester().run();
