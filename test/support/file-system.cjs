// Loaded into a process with --require: its folders lie on a file system with the number FILE_SYSTEM, and where
// LOST_LOCK names the database of a lock, a child of it finds that nobody has locked it.
const promises = require('node:fs/promises');
const { rmSync } = require('node:fs');

const real = promises.statfs;
promises.statfs = async (...given) => ({
  ...(await real(...given)),
  type: Number(process.env.FILE_SYSTEM),
});
if (process.env.LOST_LOCK !== undefined && process.execArgv.includes('-e'))
  rmSync(process.env.LOST_LOCK);
