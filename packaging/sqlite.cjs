// Stands for the package @photostructure/sqlite in the archives (standalone.js): Node's own SQLite, which binds every
// number as a floating-point one, where that package binds whole numbers as such.
'use strict';
const { DatabaseSync } = require('node:sqlite');

const whole = (value) => (Number.isSafeInteger(value) ? BigInt(value) : value);

exports.DatabaseSync = class extends DatabaseSync {
  prepare(sql) {
    const statement = super.prepare(sql);
    for (const name of ['run', 'get', 'all', 'iterate']) {
      const own = statement[name].bind(statement);
      statement[name] = (...values) => own(...values.map(whole));
    }
    return statement;
  }
};
