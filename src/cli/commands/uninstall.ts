import { homedir } from 'node:os';
import { join } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { thisMachine } from '../../actions/service/machine.ts';
import {
  findInstalled,
  ownRemoval,
  removeInstalled,
  type Installed,
} from '../../actions/service/uninstall.ts';
import { USUAL_KEY } from '../../actions/keys/pinning.ts';
import { dataHome } from '../../actions/setup/project.ts';
import { atPath } from '../../at-path.ts';
import { CLIENTS, startsThis } from '../../mcp/install/clients.ts';
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
  const { plans, foreign } = await entriesOf(call);
  const entryOf = ({ file, client }: SettingsPlan): string =>
    `${file} (the entry of crosstalk for ${client.title})`;
  const hasState = state && found.states.length > 0;
  const ours = [...found.files, ...(hasState ? [found.home] : [])];
  const planned = [...plans.map(entryOf), ...ours];
  const stays = await staying(call, found, { state, foreign });
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
  await removeInstalled(found, machine, { state: hasState, signal: io.stop });
  const removed: string[] = [];
  // One client's settings that cannot be written keep nothing else.
  for (const plan of plans)
    try {
      await writePlan(plan);
      removed.push(entryOf(plan));
    } catch (error) {
      note(call, reasonOf(error));
    }
  const all = [...removed, ...ours];
  const code = print(call, { removed: all, planned, stays }, () => told(all, 'Removed'));
  return removed.length < plans.length ? EXIT.failed : code;
}

/**
 * Plans the removal of our entry from the settings of each client; those that cannot be edited are said.
 *
 * @returns `foreign`: the files in which another server has the name of ours
 */
async function entriesOf(call: Call): Promise<{ plans: SettingsPlan[]; foreign: string[] }> {
  const { env, cwd } = call.io;
  const places = { env, cwd, home: env['HOME'] ?? homedir(), platform: process.platform };
  const plans = new Map<string, SettingsPlan>();
  const foreign = new Set<string>();
  for (const client of CLIENTS)
    for (const scope of ['user', 'project'] as const)
      try {
        const plan = await planSettings(client, places, 'removed', scope);
        if (plan.diff === '') continue;
        if (startsThis(client, plan.before ?? '')) plans.set(plan.file, plan);
        else foreign.add(plan.file);
      } catch (error) {
        note(call, reasonOf(error));
      }
  return { plans: [...plans.values()], foreign: [...foreign] };
}

async function staying(
  { io }: Call,
  { forRoot, others, services, states, home }: Installed,
  { state, foreign }: { state: boolean; foreign: readonly string[] },
): Promise<string[]> {
  const given = io.env['CROSSTALK_STATE_DIR'] ?? '';
  const isThere = (path: string): boolean => atPath(path, { follow: false }) !== undefined;
  const clones = dataHome(io.env);
  const key = join(io.env['HOME'] ?? homedir(), USUAL_KEY.slice('~/'.length));
  return [
    'every transport, which is a git repository',
    ...(isThere(key) ? [`the key with which you sign, ${key}`] : []),
    ...(isThere(clones) ? [`the clones of buses in projects, in ${clones}`] : []),
    ...(state || states.length === 0
      ? []
      : [`the state of this machine, ${home}; remove it too with: crosstalk uninstall --state`]),
    ...(given === '' ? [] : [`the state at CROSSTALK_STATE_DIR, ${given}`]),
    ...forRoot.map(({ file }) => `${file}; remove it with: sudo crosstalk uninstall`),
    ...others.map(({ file }) => `${file}, which does not start this program`),
    ...services.map(({ file }) => `${file}.d`).filter(isThere),
    ...foreign.map((file) => `the entry crosstalk in ${file}, which starts another program`),
    'entries in the settings of other folders; there: crosstalk mcp --uninstall <client>',
    `the program; remove it with: ${await ownRemoval(io.env)}`,
  ];
}
