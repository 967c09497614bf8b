// Loaded into a process with --require: its wall clock is off by the seconds in a file, which may
// change at any time. Timers go on as before, as they do when a real clock is set.
const { readFileSync } = require('node:fs');

const RealDate = Date;
const offset = () => Number(readFileSync(process.env.CLOCK_OFFSET_FILE, 'utf8')) * 1000;

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset());
    else super(...given);
  }
  static now() {
    return RealDate.now() + offset();
  }
};
