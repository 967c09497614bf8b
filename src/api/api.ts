/**
 * Data that `crosstalk web` sends to a browser: the answers of `/api/…` and the events of `/api/events`, as
 * JSON. Names are those of `--json`; times are ISO 8601 UTC; `…_s` are seconds. docs/openapi.json describes
 * the same, with the paths.
 */
export type * from './automation.ts';
export type * from './cost.ts';
export type * from './events.ts';
export type * from './messages.ts';
export type * from './notes.ts';
export type * from './now.ts';
export type * from './operating.ts';
export type * from './sending.ts';
export type * from './sessions.ts';
