'use strict';

// Counts words and keeps the counts in its state, which outlives this process.
//
// A line that failed half-way comes again. So a word keeps the numbers of the
// lines that it was counted of, as long as these are not settled as a whole;
// all lines below the number on stream "settled" are.

const {StatefulBolt} = require('./stormring');

class Count extends StatefulBolt {
  async process(tup) {
    if (this.settled === undefined) this.settled = (await this.state.get('settled')) || 0;
    if (tup.stream === 'settled') {
      [this.settled] = tup.values;
      this.state.put('settled', this.settled);
      return;
    }
    const [word, times, line] = tup.values;
    let [n, lines] = (await this.state.get(`word ${word}`)) || [0, []];
    if (line >= this.settled && !lines.includes(line)) {
      n += times;
      lines = lines.filter((old) => old >= this.settled).concat(line);
      this.state.put(`word ${word}`, [n, lines]);
    }
    this.emit({tuple: [word, n], anchorTupleId: tup.id});
  }
}

new Count().run();
