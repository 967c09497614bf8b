// The picture of docs/architecture.md, enforced: only leftward folders import rightward ones.
//   cli → chat · mcp · web → operations → dispatcher → transport · state · agent · index → protocol
// service and page stand beside them: units and the packages' edges; what a browser runs.
const layers = [
  ['protocol', []],
  ['transport', ['protocol']],
  ['state', ['protocol']],
  ['agent', ['protocol']],
  ['index', ['protocol']],
  ['dispatcher', ['transport', 'state', 'agent', 'protocol']],
  ['service', ['protocol']],
  ['operations', ['dispatcher', 'transport', 'state', 'agent', 'index', 'service', 'protocol']],
  ['chat', ['operations', 'protocol']],
  ['mcp', ['operations', 'protocol']],
  ['web', ['operations', 'protocol']],
  ['page', ['protocol']],
  ['demo', ['operations', 'dispatcher', 'protocol']],
  ['cli', ['operations', 'dispatcher', 'demo', 'chat', 'mcp', 'web', 'protocol']],
];

/** Leaf files at the root of src that everybody may import. */
const LEAVES = '^src/(errors|credentials|package|crash-points|plain-file)\\.ts$';

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
      from: { orphan: true, pathNot: '^src/demo/agents/|\\.d\\.ts$' },
      to: {},
    },
    {
      name: 'leaves-import-nothing-of-ours',
      severity: 'error',
      from: { path: LEAVES },
      // What errors say has passed it.
      to: { path: '^src/', pathNot: '^src/credentials\\.ts$' },
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
