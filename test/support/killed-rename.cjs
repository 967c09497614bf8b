// Loaded into a process with --require: it kills itself before its KILL_AT-th rename into the folder KILL_IN.
const fs = require('node:fs');
const { relative } = require('node:path');

const real = fs.renameSync;
let left = Number(process.env.KILL_AT);
fs.renameSync = (from, to) => {
  if (!relative(process.env.KILL_IN, String(to)).startsWith('..') && --left === 0)
    process.kill(process.pid, 'SIGKILL');
  real(from, to);
};
