'use strict';

// A bolt that splits sentences into words. The module beside it is multilang/node's.
const {BasicBolt} = require('./stormring');

class Split extends BasicBolt {
  process(tup, done) {
    for (const word of tup.values[0].split(' ')) this.emit({tuple: [word], anchorTupleId: tup.id});
    done();
  }
}

new Split().run();
