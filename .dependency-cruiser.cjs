// The picture of docs/architecture.md, enforced: only leftward folders import rightward ones.
//   cli → chat · mcp · web · demo → actions → dispatcher → bus → transport · state · runner · index · service
//     · secrets · bell → agents · store → present → api → protocol
// page stands beside them: what a browser runs.
const layers = [
  ['protocol', []],
  ['bell', ['protocol']],
  ['agents', ['protocol']],
  ['api', ['protocol']],
  ['present', ['api', 'protocol']],
  ['transport', ['protocol']],
  ['store', []],
  ['state', ['store', 'protocol']],
  ['runner', ['protocol']],
  ['index', ['store', 'protocol']],
  ['service', ['protocol']],
  ['secrets', ['protocol']],
  ['bus', ['transport', 'state', 'store', 'agents', 'runner', 'secrets', 'protocol']],
  ['dispatcher', ['bus', 'transport', 'state', 'runner', 'agents', 'bell', 'protocol']],
  [
    'actions',
    [
      'dispatcher',
      'bus',
      'transport',
      'state',
      'store',
      'runner',
      'index',
      'service',
      'secrets',
      'agents',
      'bell',
      'api',
      'present',
      'protocol',
    ],
  ],
  ['chat', ['actions', 'present', 'api', 'protocol']],
  ['mcp', ['actions', 'present', 'api', 'protocol']],
  ['web', ['actions', 'present', 'api', 'protocol']],
  ['page', ['present', 'api', 'protocol']],
  ['demo', ['actions', 'protocol']],
  ['cli', ['actions', 'demo', 'chat', 'mcp', 'web', 'agents', 'present', 'api', 'protocol']],
];

/** Leaf files at the root of src that everybody may import. */
const LEAVES =
  '^src/(at-path|clock|errors|credentials|package|crash-points|emitter|plain-file|random|folder|log|wait|with-pipes|without-links)\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
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
      to: { path: '^src/', pathNot: '^src/(credentials|errors)\\.ts$' },
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
