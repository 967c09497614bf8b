import { homedir } from 'node:os';
import { CrosstalkError } from '../../errors.ts';
import type { Scope, SettingsPlaces } from '../../mcp/install/clients.ts';
import { launchOf } from '../../mcp/install/launch.ts';
import { clientOf, planSettings, type SettingsPlan } from '../../mcp/install/plan.ts';
import { writePlan } from '../../mcp/install/write.ts';
import { serve } from '../../mcp/serve.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import {
  flag,
  given,
  inTransport,
  isYes,
  note,
  print,
  text,
  type Call,
} from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { CLIENT_NAMES } from '../command/mcp-clients.ts';
import { FROM, type CommandSpec } from '../command/spec.ts';
import { painter } from '../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'mcp',
    summary:
      'serve the bus to an MCP client on stdin and stdout, or enter it in a client’s settings',
    details: [
      'Without --install it speaks MCP until its stdin is closed; clients start it so.',
      'With --install and --uninstall it shows what it would change in the client’s settings and asks.',
    ].join('\n'),
    options: [
      FROM,
      ['--install <client>', `enter it in the settings of: ${CLIENT_NAMES.join(', ')}`],
      ['--uninstall <client>', 'take it out of them again'],
      ['--project', 'in the settings of this folder (default, but for codex)'],
      ['--user', 'in your own settings, for every folder'],
      ['--dry-run', 'only show the change'],
      ['--yes', 'make the change without asking'],
    ],
    interrupt: 'clean',
    example: 'crosstalk mcp --install claude',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const [added, removed] = [text(call, 'install'), text(call, 'uninstall')];
  if (added !== undefined && removed !== undefined)
    throw new CrosstalkError('usage', '--install and --uninstall were given; give one of them');
  if (added !== undefined) return install(call, added);
  if (removed !== undefined) return uninstall(call, removed);
  for (const name of ['project', 'user', 'yes', 'dryRun']) {
    if (call.options[name] === undefined) continue;
    const option = name === 'dryRun' ? '--dry-run' : `--${name}`;
    throw new CrosstalkError(
      'usage',
      `${option} was given without --install or --uninstall; say for which client: crosstalk mcp --install <client>`,
    );
  }
  const { io } = call;
  // Clients show why a server did not start, but not what its first call reported, so check it now.
  const used = await usedTransport(call);
  if (process.stdin.isTTY)
    note(
      call,
      'this speaks MCP and waits for a client; enter it in one with: crosstalk mcp --install <client>',
    );
  await serve(
    { env: io.env, cwd: io.cwd, ...used, login: io.login, ...given(call, 'from') },
    { input: process.stdin, output: process.stdout },
    io.stop,
    (line) => {
      note(call, line);
    },
  );
  return EXIT.ok;
}

/**
 * Returns the folder of the transport and its default sender, after checking that it works and that `--from` is a
 * valid name.
 */
function usedTransport(call: Call): Promise<{ transport: string; person: string | undefined }> {
  return inTransport(call, async (context) => {
    resolveFrom(context, text(call, 'from'), call.io.login);
    const { dir, defaults } = context.transport;
    return { transport: dir, person: defaults.from };
  });
}

async function install(call: Call, name: string): Promise<number> {
  const { io } = call;
  const client = clientOf(name, '--install');
  const { transport } = await usedTransport(call);
  const plan = await planSettings(
    client,
    placesOf(call),
    await launchOf(client, io.env, {
      node: process.execPath,
      transport,
      ...given(call, 'from'),
    }),
    scopeOf(call),
  );
  return carryOut(call, plan, 'installed');
}

/** Takes the server out of a client's settings; needs no transport, which may be gone. */
async function uninstall(call: Call, name: string): Promise<number> {
  const client = clientOf(name, '--uninstall');
  const plan = await planSettings(client, placesOf(call), 'removed', scopeOf(call));
  return carryOut(call, plan, 'removed');
}

function placesOf({ io }: Call): SettingsPlaces {
  const home = io.env['HOME'] ?? homedir();
  return { env: io.env, cwd: io.cwd, home, platform: process.platform };
}

/** Shows the change, asks, and writes it. */
async function carryOut(
  call: Call,
  plan: SettingsPlan,
  state: 'installed' | 'removed',
): Promise<number> {
  const option = state === 'installed' ? '--install' : '--uninstall';
  if (plan.diff === '')
    return done(call, plan, state === 'installed' ? 'unchanged' : 'absent', EXIT.ok);
  if (flag(call, 'dryRun')) return done(call, plan, 'planned', EXIT.ok);
  const mayWrite = flag(call, 'yes') || (await agreed(call, plan));
  if (mayWrite === undefined) {
    note(
      call,
      `nothing was written; say yes with: crosstalk mcp ${option} ${plan.client.name} --yes`,
    );
    return done(call, plan, 'planned', EXIT.usage);
  }
  if (!mayWrite) return EXIT.failed;
  await writePlan(plan);
  return done(call, plan, state, EXIT.ok);
}

function scopeOf(call: Call): Scope | undefined {
  const [isProject, isUser] = [flag(call, 'project'), flag(call, 'user')];
  if (isProject && isUser)
    throw new CrosstalkError('usage', '--project and --user were given; give one of them');
  if (isProject) return 'project';
  return isUser ? 'user' : undefined;
}

/** Shows the change and asks for agreement; undefined without a terminal. */
async function agreed(call: Call, plan: SettingsPlan): Promise<boolean | undefined> {
  const { ask, err } = call.io;
  if (ask === undefined) return undefined;
  err(`${shownPlan(call, plan)}\n\n`);
  const answer = await ask(`Write this to ${plan.file}? [y/N] `);
  return isYes(answer);
}

function done(
  call: Call,
  plan: SettingsPlan,
  state: 'unchanged' | 'absent' | 'planned' | 'installed' | 'removed',
  code: number,
): number {
  const { client, file, scope, diff } = plan;
  print(call, { client: client.name, scope, file, state, diff }, () => {
    if (state === 'unchanged') return `Unchanged: ${file} has it already`;
    if (state === 'absent') return `Unchanged: ${file} has no entry for crosstalk`;
    if (state === 'planned') return shownPlan(call, plan);
    const shown = flag(call, 'yes') ? [shownPlan(call, plan), ''] : [];
    if (state === 'removed') return [...shown, `Removed: ${file}`].join('\n');
    return [...shown, `Installed: ${file}`, `Next: ${client.next}`].join('\n');
  });
  return code;
}

function shownPlan({ io }: Call, { client, file, before, diff }: SettingsPlan): string {
  const paint = painter(io);
  const lines = diff.split('\n').map((line) => {
    if (line.startsWith('+')) return paint('green', line);
    return line.startsWith('-') ? paint('red', line) : line;
  });
  const head = `${client.title}: ${before === undefined ? 'new file ' : ''}${file}`;
  return [paint('bold', head), ...lines].join('\n');
}
