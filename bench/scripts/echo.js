'use strict';

const {BasicBolt} = require('./stormring');

class Echo extends BasicBolt {
  process(tup, done) {
    this.emit({tuple: tup.values, anchorTupleId: tup.id});
    done();
  }
}

new Echo().run();
