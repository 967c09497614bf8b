// Writes docs/openapi.json: its paths from the table of routes (src/web/routes.ts), its schemas from the types
// of what the routes answer (src/api/), so that neither is said twice:
//   node docs/openapi.js           writes it
//   node docs/openapi.js --check   fails when it is not what the sources say
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { commentOf, Schemas, tagOf } from './schemas.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FILE = join(ROOT, 'docs', 'openapi.json');
const ROUTES = join(ROOT, 'src', 'web', 'routes.ts');
const SHAPES = join(ROOT, 'src', 'api', 'api.ts');

const INFO = {
  title: 'crosstalk web',
  version: '6.0',
  description:
    'The JSON API of `crosstalk web`. Names are those of `--json`; times are ISO 8601 UTC. A body needs `content-type: application/json`, and where a browser sends `Origin` or `Sec-Fetch-Site`, they have to be this server’s. No answer has CORS headers. A method that a path does not have is refused with 405, and `Allow` names those it has.',
};
const SECURITY = {
  token: { type: 'http', scheme: 'bearer' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'crosstalk-<port>',
    description: 'httpOnly, same-site; set by opening `/?token=…`',
  },
};
/** By status the name and the words of a refusal. */
const REFUSALS = {
  400: ['Usage', 'Something in the request is wrong'],
  401: ['Unauthorized', 'Neither the cookie nor a bearer token'],
  403: ['Forbidden', 'From another site, or read-only'],
  404: ['NotFound', 'There is none'],
  409: ['Conflict', 'Several match, or it is refused'],
  413: ['TooLarge', 'The body is larger than a message may be'],
  415: ['NotJson', 'The body is not JSON'],
  422: ['Invalid', 'The file is malformed'],
  500: ['Internal', 'A fault of this program'],
  503: ['Busy', 'As many look on as may'],
};
/** What happens to a request before its route is asked, and what may happen in every one. */
const REFUSED_ALWAYS = ['401', '403', '500'];
const REFUSED_WRITES = ['413', '415'];

const STREAM = [
  'retry: 1000',
  'id: 5f2c-0\nevent: hello\ndata: {"event_id":"5f2c-0","tip":"9ab1…","resumed":false}',
  'id: 5f2c-1\nevent: outbox\ndata: {"at":"2026-06-09T19:00:00.010Z","outbox":[{"id":"01K…","age_s":0,"messages":[{"channel":"6b0e…","relPath":"2026/06/09/190000000Z-1f2e3d4c5b6a.md"}]}],"outbox_total":1}',
  'id: 5f2c-2\nevent: facts\ndata: {"facts":[{"channel":"6b0e…","relPath":"2026/06/09/190000000Z-1f2e3d4c5b6a.md","at":"2026-06-09T19:00:00.012Z","state":"queued","actor":null,"detail":null}]}',
  'event: still_here\ndata: {}',
  '',
].join('\n\n');

const program = programOf(ROUTES);
const checker = program.getTypeChecker();
const schemas = new Schemas(checker);

function programOf(file) {
  const path = join(ROOT, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return ts.createProgram([file], options);
}

/** Something that a file exports. */
function exported(file, name) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return checker.getExportsOfModule(module).find((symbol) => symbol.name === name);
}

const typeOf = (type, name) => {
  const property = checker.getPropertyOfType(type, name);
  return property && checker.getNonNullableType(checker.getTypeOfSymbol(property));
};
/** What a function returns, or promises. */
const resultOf = (type) =>
  checker.getAwaitedType(checker.getReturnTypeOfSignature(type.getCallSignatures()[0]));

/** The value of a type that has only one; undefined for any other. */
function valueOf(type) {
  if (type === undefined) return undefined;
  if (type.isLiteral()) return type.value;
  const properties = checker.getPropertiesOfType(type);
  if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) return undefined;
  return Object.fromEntries(properties.map(({ name }) => [name, valueOf(typeOf(type, name))]));
}

/** What is written above a route or a parameter. */
function wordsFor(symbol) {
  const words = commentOf(symbol, checker);
  if (words.length === 0) throw new Error(`nothing is written above ${symbol.name}`);
  return words;
}

function parametersOf(route, path) {
  const parameters = typeOf(route, 'parameters');
  return checker.getPropertiesOfType(parameters).map((symbol) => {
    const { name } = symbol;
    const kind = checker.getTypeOfSymbol(symbol);
    const schema = valueOf(typeOf(kind, 'schema'));
    if (Object.values(schema).includes(undefined))
      throw new Error(`the bounds of ${name} are not numbers that its type knows`);
    const place = path.includes(`{${name}}`) ? 'path' : (valueOf(typeOf(kind, 'in')) ?? 'query');
    return {
      name,
      in: place,
      description: wordsFor(symbol).join(' '),
      ...(typeOf(kind, 'required') && { required: true }),
      schema,
    };
  });
}

const jsonOf = (type) => ({ 'application/json': { schema: schemas.refer(type) } });

/** Of a route that makes its own answer. */
function rawOf(media) {
  const schema = { type: media === 'application/json' ? 'object' : 'string' };
  if (media !== 'text/event-stream') return { [media]: { schema } };
  const events = checker.getDeclaredTypeOfSymbol(exported(SHAPES, 'WebEvents'));
  return { [media]: { schema, 'x-events': schemas.referEach(events, 'Event_'), example: STREAM } };
}

/** What a route reads; undefined for one that reads nothing. */
function bodyOf(route, symbol) {
  const type = resultOf(typeOf(route, 'body'));
  if (type.flags & ts.TypeFlags.Undefined) return undefined;
  const content = jsonOf(type);
  const example = tagOf(symbol, 'example');
  if (example) content['application/json'].example = JSON.parse(example);
  return { required: true, content };
}

function operationOf(symbol) {
  const route = checker.getTypeOfSymbol(symbol);
  const value = (name) => valueOf(typeOf(route, name));
  const [method, path] = value('where').split(' ');
  const media = value('media');
  const [summary, ...description] = wordsFor(symbol);
  const parameters = parametersOf(route, path);
  const body = bodyOf(route, symbol);
  const refused = [
    ...REFUSED_ALWAYS,
    ...(method === 'POST' ? REFUSED_WRITES : []),
    ...(tagOf(symbol, 'fails')?.split(' ') ?? []),
  ];
  const answer = {
    description: tagOf(symbol, 'returns') ?? summary,
    content: media === undefined ? jsonOf(resultOf(typeOf(route, 'answer'))) : rawOf(media),
  };
  const operation = {
    operationId: symbol.name,
    summary,
    ...(description.length > 0 && { description: description.join('\n\n') }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      [value('status') ?? 200]: answer,
      ...Object.fromEntries(
        refused.map((status) => [
          status,
          { $ref: `#/components/responses/${REFUSALS[status][0]}` },
        ]),
      ),
    },
  };
  return { path, method: method.toLowerCase(), operation };
}

const paths = {};
const table = checker.getTypeOfSymbol(exported(ROUTES, 'routes'));
for (const { path, method, operation } of checker.getPropertiesOfType(table).map(operationOf))
  paths[path] = { ...paths[path], [method]: operation };

const error = jsonOf(checker.getDeclaredTypeOfSymbol(exported(SHAPES, 'WebError')));
const responses = Object.fromEntries(
  Object.values(REFUSALS).map(([name, description]) => [name, { description, content: error }]),
);
const document = {
  openapi: '3.1.0',
  info: INFO,
  servers: [{ url: 'http://127.0.0.1:7777' }],
  security: Object.keys(SECURITY).map((name) => ({ [name]: [] })),
  paths,
  components: { securitySchemes: SECURITY, responses, schemas: schemas.found },
};
const style = await resolveConfig(FILE);
const text = await format(JSON.stringify(document, undefined, 2), { ...style, parser: 'json' });
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  console.error('docs/openapi.json is not what the sources say: node docs/openapi.js');
  process.exitCode = 1;
}
