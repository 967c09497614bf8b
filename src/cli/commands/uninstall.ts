import { homedir } from 'node:os';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { thisMachine } from '../../actions/service/machine.ts';
import {
  findInstalled,
  ownRemoval,
  removeInstalled,
  type Installed,
} from '../../actions/service/uninstall.ts';
import { CLIENTS } from '../../mcp/install/clients.ts';
import { planSettings, type SettingsPlan } from '../../mcp/install/plan.ts';
import { writePlan } from '../../mcp/install/write.ts';
import { flag, isYes, note, print, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'uninstall',
    summary: 'remove what crosstalk has installed on this machine; transports stay',
    details: [
      'Removes the services of all transports, the entry of crosstalk in the settings of MCP clients (yours, and those of',
      'this folder), and the programs that runs call. Shows all of it and asks. What stays is said.',
    ].join('\n'),
    standalone: true,
    options: [
      [
        '--state',
        'also what this machine alone knows of its transports: keys, approvals, logs, copies that threads work in',
      ],
      ['--dry-run', 'only show what would be removed'],
      ['--yes', 'do not ask'],
    ],
    example: 'crosstalk uninstall --dry-run',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const { io } = call;
  const state = flag(call, 'state');
  const machine = await thisMachine(io.env);
  const found = await findInstalled(io.env, machine);
  const entries = await entriesOf(call);
  const planned = [
    ...entries.map(({ file, client }) => `${file} (the entry of crosstalk for ${client.title})`),
    ...found.files,
    ...(state && found.states.length > 0 ? [found.home] : []),
  ];
  const stays = staying(call, found, state);
  const told = (removed: readonly string[], word: string): string =>
    [
      ...(removed.length === 0 ? ['Nothing of it is installed here'] : []),
      ...removed.map((path) => `${word}: ${path}`),
      ...stays.map((line) => `Stays: ${line}`),
    ].join('\n');
  const isDry = flag(call, 'dryRun');
  if (isDry || planned.length === 0)
    return print(call, { removed: isDry ? [] : planned, planned, stays }, () =>
      told(planned, 'Would be removed'),
    );
  if (!flag(call, 'yes')) {
    if (io.ask === undefined)
      throw new CrosstalkError(
        'usage',
        'nothing is removed without a yes; look with --dry-run, and say so with --yes',
      );
    io.err(`${told(planned, 'Remove')}\n\n`);
    if (!isYes(await io.ask('Remove this? [y/N] '))) return EXIT.failed;
  }
  await removeInstalled(found, machine, {
    state: state && found.states.length > 0,
    signal: io.stop,
  });
  for (const entry of entries) await writePlan(entry);
  return print(call, { removed: planned, planned, stays }, () => told(planned, 'Removed'));
}

/** Plans the removal of our entry from the settings of each client; those that cannot be edited are said. */
async function entriesOf(call: Call): Promise<SettingsPlan[]> {
  const { env, cwd } = call.io;
  const places = { env, cwd, home: env['HOME'] ?? homedir(), platform: process.platform };
  const plans = new Map<string, SettingsPlan>();
  for (const client of CLIENTS)
    for (const scope of ['user', 'project'] as const)
      try {
        const plan = await planSettings(client, places, 'removed', scope);
        if (plan.diff !== '') plans.set(plan.file, plan);
      } catch (error) {
        note(call, reasonOf(error));
      }
  return [...plans.values()];
}

function staying({ io }: Call, { forRoot, states, home }: Installed, state: boolean): string[] {
  const given = io.env['CROSSTALK_STATE_DIR'] ?? '';
  return [
    'every transport, which is a git repository',
    ...(state || states.length === 0
      ? []
      : [`the state of this machine, ${home}; remove it too with: crosstalk uninstall --state`]),
    ...(given === '' ? [] : [`the state at CROSSTALK_STATE_DIR, ${given}`]),
    ...forRoot.map(({ file }) => `${file}; remove it with: sudo crosstalk uninstall`),
    'entries in the settings of other folders; there: crosstalk mcp --uninstall <client>',
    `the program; remove it with: ${ownRemoval(io.env)}`,
  ];
}
