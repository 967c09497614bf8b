'use strict';
const {
  accessSync,
  constants,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');

/** Bytes at the start of a cache that name the commands whose code it holds, one space between two. */
const HEAD_BYTES = 512;
/** Reading more takes what it saves: about a millisecond for each half of a megabyte. */
const MAX_BYTES = 3 << 20;
/** The parts of the bundle that not every command needs (build-parts.js). */
const LATER = ['./core.cjs', './rest.cjs'];
/** V8 gives up code that a long run does not use. */
const SHORT_RUN_S = 10;

/**
 * Loads the bundle with what V8 made of it at earlier runs, which saves a short command a sixth of
 * its time. The cache lies beside the bundle where that may be written, and is made anew for another
 * build or another Node. The first run of each command adds the functions that it needed
 * (docs/decisions/28-starting.md).
 */
exports.load = load;

function load(file, argv = [], parts = {}) {
  // The build makes it of ASCII alone: one character of another kind doubles its size in memory.
  const source = readFileSync(file, 'latin1');
  const { mtimeMs, size } = statSync(file);
  const cache = `${file}.${process.version}-${process.arch}-${mtimeMs.toString(36)}-${size.toString(36)}.cache`;
  const kept = read(cache);
  const script = new Script(wrap(source), { filename: file, cachedData: kept?.data });
  const known = script.cachedDataRejected === false ? kept.commands : [];
  const command = commandOf(argv);
  const part = `./${basename(file)}`;
  const isNew = command !== undefined && !known.includes(command);
  if (known.length === 0 || (isNew && kept.data.length < MAX_BYTES)) {
    // At the end it knows which functions a run needs.
    process.once('exit', (code) => {
      if (known.length === 0 || (code === 0 && process.uptime() < SHORT_RUN_S))
        keep(script, cache, [...known, command || '-']);
    });
  }
  const module = { exports: {} };
  parts[part] = module;
  script.runInThisContext()(
    module.exports,
    requireFor(file, argv, parts),
    module,
    file,
    dirname(file),
  );
  return module.exports;
}

/** What a part of the bundle gets other parts and all else by; they are loaded when they are asked for. */
function requireFor(file, argv, parts) {
  const own = createRequire(file);
  const get = (name) => {
    if (parts[name] === undefined && LATER.includes(name))
      load(join(dirname(file), name), argv, parts);
    return parts[name]?.exports ?? own(name);
  };
  return Object.assign(get, own);
}

/** The command of a command line; none where it only asks for help. */
function commandOf(argv) {
  const isHelp = argv.includes('--help') || argv.includes('-h');
  return !isHelp && /^[a-z]{2,20}$/.test(argv[0]) ? argv[0] : undefined;
}

function read(cache) {
  try {
    const bytes = readFileSync(cache);
    const commands = bytes.toString('latin1', 0, HEAD_BYTES).trim().split(' ');
    return { commands, data: bytes.subarray(HEAD_BYTES) };
  } catch {
    return undefined;
  }
}

function keep(script, cache, commands) {
  try {
    accessSync(dirname(cache), constants.W_OK);
    const head = Buffer.from(commands.join(' ').padEnd(HEAD_BYTES), 'latin1');
    if (head.length > HEAD_BYTES) return;
    const temporary = `${cache}.${process.pid}`;
    writeFileSync(temporary, Buffer.concat([head, script.createCachedData()]), { mode: 0o644 });
    renameSync(temporary, cache);
  } catch {
    // It starts without.
  }
}
