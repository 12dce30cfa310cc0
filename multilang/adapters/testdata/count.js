'use strict';

const {StatefulBolt} = require('./stormring');

class Count extends StatefulBolt {
  async process(tup) {
    const word = tup.values[0];
    const n = (await this.state.get(word) || 0) + 1;
    this.state.put(word, n);
    this.emit({tuple: [word, n], anchorTupleId: tup.id});
  }
}

new Count().run();
