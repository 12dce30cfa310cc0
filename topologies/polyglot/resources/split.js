'use strict';

// Emits each different word of a line, how often it is there, and the line's number.

const {BasicBolt} = require('./stormring');

// What Python takes for white space; JavaScript's \s is another set.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

class Split extends BasicBolt {
  process(tup) {
    const [text, line] = tup.values;
    const counts = new Map();
    for (const word of text.split(SPACE)) {
      if (word !== '') counts.set(word, (counts.get(word) || 0) + 1);
    }
    for (const [word, times] of counts) this.emit({tuple: [word, times, line], anchorTupleId: tup.id});
  }
}

new Split().run();
