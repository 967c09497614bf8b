// Writes docs/reference.md: commands, options of a tier, settings, variables, exit codes and log events, from the
// tables in the sources that the program itself uses:
//   node docs/reference.js           writes it
//   node docs/reference.js --check   fails when it is not what the sources say
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FILE = join(ROOT, 'docs', 'reference.md');

function sourceOf(path) {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

function each(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => each(child, visit));
}

/** The value of a constant or the members of an interface, without types around it. */
function declared(path, name) {
  let found;
  each(sourceOf(path), (node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name) found = node.initializer;
    if (ts.isInterfaceDeclaration(node) && node.name.text === name) found = node;
  });
  while (found && (ts.isSatisfiesExpression(found) || ts.isAsExpression(found)))
    found = found.expression;
  if (!found) throw new Error(`docs/reference.js: ${path} has no ${name}`);
  return found;
}

/** The words of a node: a text, or texts that are added. */
function words(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node)) return words(node.left) + words(node.right);
  throw new Error(`docs/reference.js: ${node.getText()} is not a text`);
}

/** All texts in an array, also those of arrays that are spread in it. */
function textsIn(node) {
  const found = [];
  each(node, (one) => ts.isStringLiteralLike(one) && found.push(one.text));
  return found;
}

/** The comment above a member, on one line. */
const commentOf = (node) =>
  ts
    .getJSDocCommentsAndTags(node)
    .map(({ comment }) => comment ?? '')
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();

const shown = (text) => text.replaceAll('|', '\\|').replace(/<(?![a-z]+:)/g, '&lt;');
const code = (text) => `\`${text.replaceAll('|', '\\|')}\``;

/** A table; the first cell of each row is set as code. */
function table(head, rows) {
  const lines = rows.map(([name, ...cells]) => `| ${[code(name), ...cells].join(' | ')} |`);
  return [`| ${head.join(' | ')} |`, `|${head.map(() => ' --- |').join('')}`, ...lines].join('\n');
}

/** Pairs of a name and a meaning, as src/cli/help/facts.ts has them. */
const facts = (name) =>
  declared('src/cli/help/facts.ts', name).elements.map(({ elements: [first, second] }) => [
    words(first),
    shown(words(second)),
  ]);

/** The commands that the help lists, by their sections. */
function commands() {
  const folder = 'src/cli/commands';
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const specs = files
    .sort()
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => specsIn(sourceOf(join(folder, name))));
  const sections = declared('src/cli/help/sections.ts', 'SECTIONS').elements.map(
    ({ elements }) => ({
      title: words(elements[0]),
      first: textsIn(elements[1]),
    }),
  );
  const listed = sections.map(({ title, first }) => {
    const rows = first.flatMap((word) => specs.filter(({ name }) => name.split(' ')[0] === word));
    return { title, rows };
  });
  const missing = specs.filter((spec) => !listed.some(({ rows }) => rows.includes(spec)));
  if (missing.length > 0) throw new Error(`docs/reference.js: no section for ${missing[0].name}`);
  return listed.map(({ title, rows }) => {
    const cells = rows.map(({ name, args, summary }) => [`${name} ${args}`.trim(), shown(summary)]);
    return `### ${title}\n\n${table(['command', ''], cells)}`;
  });
}

function specsIn(source) {
  const found = [];
  each(source, (node) => {
    if (!ts.isObjectLiteralExpression(node)) return;
    const of = (name) =>
      node.properties.find((one) => ts.isPropertyAssignment(one) && one.name.getText() === name)
        ?.initializer;
    const [name, args, summary] = [of('name'), of('args'), of('summary')];
    if (!name || !summary || !of('example') || of('hidden')) return;
    found.push({ name: words(name), args: args ? words(args) : '', summary: words(summary) });
  });
  return found;
}

/** Where an option of a tier is explained. */
const EXPLAINED = [
  [/_usd_|_tokens_|^fallback/, 'guides/money.md'],
  [/^worktree|^before$|^workdir$/, 'guides/repository.md'],
  [/^sandbox$/, 'concepts/sandbox.md'],
  [/^only_from$/, 'concepts/signed-messages.md'],
  [/^gate|^permit/, 'guides/decide.md'],
  [/^session|^history$/, 'concepts/sessions.md'],
  [/./, 'concepts/host-file.md'],
];

function tierOptions() {
  const rows = declared('src/cli/commands/set-actor.ts', 'MEANINGS').properties.map((one) => {
    const name = one.name.getText();
    const [, page] = EXPLAINED.find(([pattern]) => pattern.test(name));
    return [name, shown(words(one.initializer)), `[${page.replace(/^.*\/|\.md$/g, '')}](${page})`];
  });
  return table(['option', '', 'explained in'], rows);
}

/** The settings that the comments of their fields name. */
function settings() {
  const fields = [
    ...declared('src/transport/clone/handle.ts', 'Repository').members,
    ...declared('src/transport/clone/forges.ts', 'RemoteLimits').members,
  ];
  const rows = fields.flatMap((field) => {
    const [, name, meaning] = /^`(crosstalk\.\w+)`: (.*)$/.exec(commentOf(field)) ?? [];
    return name === undefined ? [] : [[name, meaning.replaceAll('|', '\\|')]];
  });
  for (const name of textsIn(declared('src/transport/clone/repository.ts', 'NAMED')))
    if (!rows.some(([known]) => known === `crosstalk.${name}`))
      throw new Error(`docs/reference.js: no comment says what crosstalk.${name} is`);
  return table(['setting', ''], rows);
}

function events() {
  const rows = declared('src/log.ts', 'EVENTS').properties.map((one) => {
    const meaning = commentOf(one);
    if (meaning === '')
      throw new Error(`docs/reference.js: no comment says what ${one.getText()} is`);
    return [one.name.getText(), words(one.initializer), meaning];
  });
  return table(['event', 'level', ''], rows);
}

const page = `# Reference

<!-- written by docs/reference.js from the tables in the sources -->

[Commands](#commands) · [Options of a tier](#options-of-a-tier) · [Settings](#settings) · [Environment](#environment) ·
[Exit codes](#exit-codes) · [Log events](#log-events) · [What \`--json\` prints](json.md) · [The page's API](web.md#api)

An option wins over the environment, the environment over a file or git config, and those over the default.

## Commands

\`crosstalk <command> --help\` shows the options of one, \`man crosstalk\` those of all. Every command that prints data has
\`--json\` ([what it prints](json.md)).

${commands().join('\n\n')}

## Options of a tier

They stand in the [host file](concepts/host-file.md), and are changed by \`crosstalk actor set <actor> <option>=<value>\`. Durations are
seconds (\`90\`) or carry a unit: \`500ms\`, \`90s\`, \`10m\`, \`1.5h\`, \`1d\`.

${tierOptions()}

## Settings

\`git config <setting> <value>\` in the clone of the transport.

${settings()}

\`user.name\` and \`user.email\` are the committer; without them it is \`crosstalk <crosstalk@crosstalk.local>\`. Changes of \`crosstalk.agent\`,
\`crosstalk.branch\` and those of the bell in the clone wait for \`crosstalk host approve\`.

## Environment

${table(['variable', ''], facts('ENVIRONMENT'))}

A dispatcher sets these for an agent CLI, and no other variable of Crosstalk:

${table(['variable', ''], facts('DISPATCH_ENVIRONMENT'))}

## Exit codes

${table(['code', ''], facts('EXIT_CODES'))}

\`crosstalk dispatch --supervised\` ends with 75 to be started again as another version.

## Log events

Each line of the log is a JSON object with \`ts\`, \`level\`, \`event\` and fields of the event; \`crosstalk logs\` shows them. [Failures](failures.md) says
what to do.

${events()}
`;
if (!process.argv.includes('--check')) writeFileSync(FILE, page);
else if (readFileSync(FILE, 'utf8') !== page) {
  console.error(`${relative(ROOT, FILE)} is not what the sources say: node docs/reference.js`);
  process.exitCode = 1;
}
