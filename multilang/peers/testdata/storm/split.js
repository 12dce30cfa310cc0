const fs = require('fs');
const storm = require('./storm');

function once() {
  try {
    fs.closeSync(fs.openSync('crashed', 'wx'));
    return true;
  } catch (e) {
    return false;
  }
}

class Split extends storm.BasicBolt {
  process(tup, done) {
    const [line, n] = tup.values;
    if (n === 7 && once()) throw new Error('on purpose');
    for (const word of line.split(' ')) this.emit({ tuple: [word], anchorTupleId: tup.id }, () => {});
    done();
  }
}

new Split().run();
