// Packages that only answers with a schema need, as a separate bundle (build.js). The validator interprets a
// schema: one that compiled it would run code that anybody who can push has written.
export { Validator } from '@cfworker/json-schema';
export { default as draft7 } from 'ajv/dist/refs/json-schema-draft-07.json' with { type: 'json' };
