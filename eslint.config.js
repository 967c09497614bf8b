import js from '@eslint/js';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/** Packages and modules that only these files may import (CONTRIBUTING.md). */
const DANGEROUS = {
  'gray-matter': ['src/protocol/text/frontmatter.ts'],
  'simple-git': ['src/transport/git/environment.ts'],
  'proper-lockfile': ['src/mcp/install/write.ts'],
  '@photostructure/sqlite': ['src/store/sqlite.ts'],
  'node:child_process': [
    'src/transport/git/git.ts',
    'src/runner/gated.ts',
    'src/runner/bounded-program.ts',
    'src/runner/sandbox/bubblewrap.ts',
    'src/runner/foreground-job.ts',
    'src/runner/notify.ts',
    'src/runner/plain-session.ts',
    'src/runner/terminal.ts',
    'src/state/process-identity.ts',
    'src/state/lock.ts',
    'src/state/keys/ssh-keygen.ts',
    'src/service/run.ts',
    'src/demo/**',
    'src/web/browser.ts',
    // Looks at what waits on stdin, which Node cannot do without taking it.
    'src/cli/command/stdin.ts',
    'bench/**',
  ],
};

const restricted = (names) => [
  'error',
  {
    paths: names.map((name) => ({
      name,
      message: 'One file imports this; see eslint.config.js.',
      allowTypeImports: true,
    })),
  },
];

const PURE = {
  Date: 'The clock is an argument: take a Date.',
  process: 'The environment is an argument.',
  crypto: 'Randomness is an argument.',
  fetch: 'The protocol does no I/O.',
};

/** Restrictions of rooms that take clock and random numbers as arguments: tests and simulations pass their own. */
const GIVEN_TIME = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: PURE.Date,
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: PURE.Date },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: 'Randomness is an argument.',
  },
];

/** A restriction of bare booleans, whose meaning a reader of the call cannot see. Not ours to name: hooks, DOM, packages. */
const BARE_BOOLEAN = {
  selector:
    'CallExpression:not([callee.name=/^(resolve|useState|useRef|createScanner|set[A-Z].*)$/])' +
    ':not([callee.property.name=/^(includes|setRawMode|compose|allowExcessArguments)$/])' +
    ' > Literal.arguments[raw=/^(true|false)$/]',
  message: 'Name it: an option in an object, a word of a union, or two functions.',
};

const GIVEN_CHANCE = [
  {
    selector: 'ImportSpecifier[imported.name=/^random(Bytes|Int|UUID)$/]',
    message: 'Randomness is an argument.',
  },
  { selector: "ImportSpecifier[imported.name='ulid']", message: 'Randomness is an argument.' },
  {
    selector: "MemberExpression[object.name='Date'][property.name='now']",
    message: PURE.Date,
  },
];

/** First words that hide the noun of a doc comment: "How its agent is told …" is "Input written to …". */
const NO_NOUN = /^\*[\s*]*(?:What|Whoever|Whom?|So many|Where|How|Why)\b/;

/** Rules of our own. */
const house = {
  rules: {
    'doc-comment': {
      meta: {
        type: 'suggestion',
        schema: [],
        messages: {
          noNoun: 'Begin a doc comment with the noun that it names, or an active verb.',
        },
      },
      create: ({ sourceCode, report }) => ({
        Program: () => {
          for (const comment of sourceCode.getAllComments())
            if (comment.type === 'Block' && NO_NOUN.test(comment.value))
              report({ loc: comment.loc, messageId: 'noNoun' });
        },
      }),
    },
  },
};

export default tseslint.config(
  { ignores: ['dist/', 'man/', 'coverage/', 'node_modules/', 'test/fixtures/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      '@typescript-eslint/no-restricted-imports': restricted(Object.keys(DANGEROUS)),
      '@typescript-eslint/consistent-type-imports': 'error',
      // A Promise-returning function need not await when it only hands one on.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    plugins: { regexp, house },
    rules: {
      'house/doc-comment': 'error',
      // Text from a message may be a megabyte of what an expression is slowest at.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false }],
      'max-lines': ['error', { max: 400 }],
      'no-restricted-syntax': ['error', BARE_BOOLEAN],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'exit',
          message: 'Return an exit code; cli/main.ts decides.',
        },
        {
          object: 'process',
          property: 'exitCode',
          message: 'Return an exit code; cli/main.ts decides.',
        },
      ],
    },
  },
  ...Object.entries(DANGEROUS).map(([name, files]) => ({
    files,
    rules: {
      '@typescript-eslint/no-restricted-imports': restricted(
        Object.keys(DANGEROUS).filter((other) => other !== name),
      ),
    },
  })),
  {
    files: ['bin/*.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { require: 'readonly', exports: 'writable', __dirname: 'readonly' },
    },
  },
  {
    // They are the entries of the process.
    files: ['src/cli/main.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['src/protocol/**/*.ts', 'src/agents/**/*.ts', 'src/api/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: Object.keys(DANGEROUS),
          patterns: [{ regex: '^node:', message: 'The protocol is pure: no I/O.' }],
        },
      ],
      'no-restricted-globals': [
        'error',
        ...Object.entries(PURE)
          .filter(([name]) => name !== 'Date')
          .map(([name, message]) => ({ name, message })),
      ],
      'no-restricted-syntax': ['error', BARE_BOOLEAN, ...GIVEN_TIME],
    },
  },
  {
    // How long something is waited for is told by `performance.now()`, which nobody sets.
    files: [
      'src/dispatcher/**/*.ts',
      'src/bus/**/*.ts',
      'src/state/**/*.ts',
      'src/actions/**/*.ts',
    ],
    ignores: [
      // Where the time and the chance of this machine are made.
      'src/actions/clock.ts',
      // A lock says to people since when it is held, and processes that want the same one must not
      // march in step: both are about this machine.
      'src/state/lock.ts',
    ],
    rules: { 'no-restricted-syntax': ['error', BARE_BOOLEAN, ...GIVEN_TIME, ...GIVEN_CHANCE] },
  },
  {
    // A key that nobody may know, and names of folders that nobody may have taken.
    files: ['src/state/clone-id.ts', 'src/state/removal.ts'],
    rules: { 'no-restricted-syntax': ['error', BARE_BOOLEAN, ...GIVEN_TIME] },
  },
  {
    files: ['src/protocol/text/frontmatter.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': restricted(
        Object.keys(DANGEROUS).filter((name) => name !== 'gray-matter'),
      ),
    },
  },
  {
    files: ['test/**/*.ts', 'vitest.config.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': 'off',
      // Tests index into what they have just built, and hand methods of fakes around.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        console: 'readonly',
        module: 'writable',
      },
    },
  },
);
