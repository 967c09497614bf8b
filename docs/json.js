// Writes docs/json.md: what each command prints with --json, from the types of what it passes to `print`:
//   node docs/json.js           writes it
//   node docs/json.js --check   fails when it is not what the sources say
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const CLI = join(ROOT, 'src', 'cli');
const FILE = join(ROOT, 'docs', 'json.md');
const TABLE = join(CLI, 'commands.ts');
/** Command whose JSON is its own alone: it says on stderr what it starts besides. */
const ALONE = 'init';

/** Print JSON: their second argument is the value. */
const PRINTS = new Set(['print', 'printed']);
/** How deep a shape is spelled out; below stands what kind of thing it is. */
const DEPTH = 2;
/** The most words that are listed. */
const MOST_WORDS = 8;

const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
const program = ts.createProgram([TABLE, join(CLI, 'main.ts')], options);
const checker = program.getTypeChecker();

const text = (node) => node.getText();
function each(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => each(child, visit));
}

/** The declarations of the commands, in the order of the list: the name, the file, and what it runs. */
function commands() {
  const list = program.getSourceFile(TABLE);
  const found = [];
  each(list, (node) => {
    const isEntry = ts.isIdentifier(node) && ts.isArrayLiteralExpression(node.parent);
    if (!isEntry) return;
    const symbol = checker.getAliasedSymbol(checker.getSymbolAtLocation(node));
    for (const row of symbol.valueDeclaration.initializer.elements) {
      const named = ts.isIdentifier(row) && checker.getSymbolAtLocation(row).valueDeclaration;
      const command = declaration(named ? named.initializer : row);
      if (command) found.push(command);
    }
  });
  return found;
}

function declaration(row) {
  if (!ts.isObjectLiteralExpression(row)) return undefined;
  const of = (name) => row.properties.find((one) => one.name && text(one.name) === name);
  const [name, run] = [of('name'), of('run')];
  if (of('hidden') || !ts.isStringLiteral(name?.initializer ?? row)) return undefined;
  const prints = text(row).includes('lines: true') ? 'lines' : 'document';
  const file = row.getSourceFile().fileName;
  return { name: name.initializer.text, file, prints, run: run.initializer ?? run };
}

/** The function that a name in a call stands for, if it is one of the command line's own. */
function declared(name) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declaration = symbol?.valueDeclaration;
  if (!declaration?.getSourceFile().fileName.startsWith(CLI)) return undefined;
  const isFunction = ts.isFunctionDeclaration(declaration) && declaration.body;
  const isConst =
    ts.isVariableDeclaration(declaration) &&
    declaration.initializer &&
    ts.isArrowFunction(declaration.initializer);
  return isFunction || isConst ? declaration : undefined;
}

/** Which name a condition asks for, such as `call.name === 'pause'`; undefined for any other condition. */
const askedIn = (node) => /^(?:call\.)?name === '([^']+)'$/.exec(text(node))?.[1];

/** What of a function a command of this name runs: what is for other names is left out. */
function visitFor(node, name, visit) {
  if (ts.isBlock(node)) {
    for (const statement of node.statements) {
      const asked = ts.isIfStatement(statement) ? askedIn(statement.expression) : undefined;
      if (asked === undefined) visitFor(statement, name, visit);
      else if (asked === name) return visitFor(statement.thenStatement, name, visit);
      else if (statement.elseStatement) visitFor(statement.elseStatement, name, visit);
    }
    return;
  }
  if (ts.isSwitchStatement(node) && text(node.expression) === 'call.name') {
    const { clauses } = node.caseBlock;
    const own = clauses.findIndex((one) => ts.isCaseClause(one) && one.expression.text === name);
    let at = own < 0 ? clauses.findIndex(ts.isDefaultClause) : own;
    while (clauses[at] && clauses[at].statements.length === 0) at++;
    if (clauses[at]) visitFor(clauses[at], name, visit);
    return;
  }
  if (ts.isConditionalExpression(node) && askedIn(node.condition) !== undefined) {
    const isIt = askedIn(node.condition) === name;
    visitFor(isIt ? node.whenTrue : node.whenFalse, name, visit);
    return;
  }
  visit(node);
  ts.forEachChild(node, (child) => visitFor(child, name, visit));
}

/** The function of a command in a record of functions by name: of `VERBS[call.name] ?? own`. */
function chosenIn(node, name) {
  if (!ts.isBinaryExpression(node) || !ts.isElementAccessExpression(node.left)) return undefined;
  if (text(node.left.argumentExpression) !== 'call.name') return undefined;
  const record = checker.getSymbolAtLocation(node.left.expression).valueDeclaration.initializer;
  const own = record.properties.find((one) => one.name.text === name);
  const chosen = own?.initializer ?? node.right;
  return ts.isArrowFunction(chosen) ? chosen : declared(chosen);
}

/** The types of what a command prints. */
function printedBy({ name, file, prints, run }) {
  const seen = new Set();
  const shapes = new Set();
  const follow = (declaration) => {
    if (!declaration || seen.has(declaration)) return;
    const place = declaration.getSourceFile().fileName;
    if (name === ALONE && place !== file && place.startsWith(join(CLI, 'commands'))) return;
    seen.add(declaration);
    visitFor(declaration, name, (node) => {
      follow(chosenIn(node, name));
      if (!ts.isCallExpression(node)) return;
      const called = ts.isIdentifier(node.expression) ? text(node.expression) : '';
      const isLine =
        text(node.expression) === 'JSON.stringify' && node.getSourceFile().fileName === file;
      if (isLine && node.arguments.length === 1) {
        const shape = shapeOf(node.arguments[0]);
        shapes.add(prints === 'lines' ? `a line: ${shape}` : shape);
      }
      if (PRINTS.has(called) && node.arguments.length === 3 && text(node.arguments[0]) === 'call') {
        shapes.add(shapeOf(node.arguments[1]));
      } else if (ts.isIdentifier(node.expression)) follow(declared(node.expression));
    });
    // A function that is passed on is called as well.
    visitFor(declaration, name, (node) => {
      if (ts.isCallExpression(node))
        for (const one of node.arguments) if (ts.isIdentifier(one)) follow(declared(one));
    });
  };
  if (ts.isShorthandPropertyAssignment(run))
    follow(checker.getShorthandAssignmentValueSymbol(run).valueDeclaration);
  else {
    follow(run);
    each(run, (node) => ts.isIdentifier(node) && follow(declared(node)));
  }
  return [...shapes];
}

const shapeOf = (node) => described(checker.getTypeAtLocation(node), node, DEPTH);

function described(type, node, depth) {
  const { TypeFlags: F } = ts;
  if (type.isUnion() && !(type.flags & F.Boolean)) {
    const some = type.types.filter((one) => !(one.flags & (F.Undefined | F.BooleanLiteral)));
    if (some.length > MOST_WORDS && some.every((one) => one.isStringLiteral())) return 'string';
    const isSwitch = type.types.filter((one) => one.flags & F.BooleanLiteral).length === 2;
    const words = some.map((one) => described(one, node, depth));
    // In an order that does not depend on what else the compiler has looked at.
    const sorted = [...new Set(words), ...(isSwitch ? ['boolean'] : [])].sort();
    return [
      ...sorted.filter((one) => one !== 'null'),
      ...sorted.filter((one) => one === 'null'),
    ].join(' or ');
  }
  if (type.flags & F.StringLike) return type.isStringLiteral() ? `"${type.value}"` : 'string';
  if (type.flags & F.NumberLike) return 'number';
  if (type.flags & F.BooleanLike) return checker.typeToString(type);
  if (type.flags & F.Null) return 'null';
  if (checker.isArrayType(type) || checker.isTupleType(type)) {
    const [element] = checker.getTypeArguments(type);
    const inner = element ? described(element, node, depth) : 'value';
    return `[${inner}, …]`;
  }
  if (type.flags & (F.Object | F.Intersection)) {
    const properties = checker.getPropertiesOfType(type);
    if (properties.length === 0) return 'object';
    if (depth === 0) return 'object';
    const fields = properties.map((one) => {
      const isOptional = (one.flags & ts.SymbolFlags.Optional) !== 0;
      const inner = described(checker.getTypeOfSymbolAtLocation(one, node), node, depth - 1);
      return { name: `${one.name}${isOptional ? '?' : ''}`, inner };
    });
    return `{ ${fields.map(({ name, inner }) => `${name}: ${inner}`).join(', ')} }`;
  }
  return 'value';
}

/** What has no type here. */
const SAID = {
  dispatch: 'nothing: its log is on stderr, a line for each event',
  watch:
    'a line: `{ run: string, actor: string, kind: string, … }` with what is said of that kind: the text, the usage, how it ended',
  logs: 'a line: what the dispatcher has logged, as it stands in its log',
};

const HEAD = `# The JSON of each command

With \`--json\` a command prints one document on stdout, and nothing else; \`--jsonl\` of \`log\`, \`inbox\`, \`logs\`, \`watch\` and \`chat\`, whose
\`--json\` does the same, prints a document a line. Warnings and progress are on stderr. A failure is \`{ error: { code, command, message } }\`, on
one line, and a line on stderr. Names are in snake_case but for \`relPath\`, the path of a message inside its channel. A field with \`?\` may be
absent; fields may be added.

<!-- written by docs/json.js from the types of what is printed -->
`;

const rows = commands().map((command) => {
  const { name } = command;
  const shapes = printedBy(command);
  const [odd] =
    shapes
      .join(' ')
      .replaceAll('relPath', '')
      .match(/\b[a-z_]+[A-Z]\w*\??:/) ?? [];
  if (odd !== undefined)
    throw new Error(`docs/json.js: ${name} prints ${odd} which is not in snake_case`);
  const cells = shapes.map((shape) => `\`${shape}\``);
  return `| \`${name}\` | ${SAID[name] ?? (cells.length === 0 ? 'nothing' : cells.join('<br>'))} |`;
});
const page = `${HEAD}\n| command | JSON |\n| --- | --- |\n${rows.join('\n')}\n`;
if (!process.argv.includes('--check')) writeFileSync(FILE, page);
else if (readFileSync(FILE, 'utf8') !== page) {
  console.error(`${relative(ROOT, FILE)} is not what the sources say: node docs/json.js`);
  process.exitCode = 1;
}
