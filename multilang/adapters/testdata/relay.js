'use strict';

const {StatefulBolt} = require('./stormring');

// It keeps nothing, but is part of checkpoints.
class Relay extends StatefulBolt {
  async process(tup) {
    for (const word of tup.values[0].split(' ')) this.emit({tuple: [word], anchorTupleId: tup.id});
  }
}

new Relay().run();
