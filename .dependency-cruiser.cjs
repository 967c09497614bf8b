// The picture of docs/architecture.md, enforced: only leftward folders import rightward ones.
//   cli → operations → dispatcher → transport · state · agent · index → protocol
const layers = [
  ['protocol', []],
  ['transport', ['protocol']],
  ['state', ['protocol']],
  ['agent', ['protocol']],
  ['index', ['protocol']],
  ['dispatcher', ['transport', 'state', 'agent', 'protocol']],
  ['operations', ['dispatcher', 'transport', 'state', 'agent', 'index', 'protocol']],
  ['demo', ['operations', 'dispatcher', 'protocol']],
  ['cli', ['operations', 'dispatcher', 'demo', 'protocol']],
];

/** Leaf files at the root of src that everybody may import. */
const LEAVES = '^src/(errors|package|crash-points)\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: '^src/demo/agents/' },
      to: {},
    },
    {
      name: 'leaves-import-nothing-of-ours',
      severity: 'error',
      from: { path: LEAVES },
      to: { path: '^src/' },
    },
    ...layers.map(([name, may]) => ({
      name: `${name}-imports-only-what-is-right-of-it`,
      severity: 'error',
      from: { path: `^src/${name}/` },
      to: {
        path: '^src/',
        pathNot: [LEAVES, `^src/(${[name, ...may].join('|')})/`],
      },
    })),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
    },
  },
};
