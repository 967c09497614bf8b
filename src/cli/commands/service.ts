import { CrosstalkError } from '../../errors.ts';
import {
  startService,
  stopService,
  uninstallService,
  install,
} from '../../actions/service/control.ts';
import {
  thisMachine,
  type Machine,
  isForAnother,
  serviceUser,
} from '../../actions/service/machine.ts';
import {
  planInstall,
  typed,
  type InstallInput,
  type InstallPlan,
} from '../../actions/service/plan.ts';
import { serviceStatus, type ServiceStatus } from '../../actions/service/status.ts';
import type { Context } from '../../actions/context.ts';
import {
  isYes,
  flag,
  given,
  inTransport,
  list,
  note,
  print,
  text,
  type Call,
} from '../command/command.ts';
import { EXIT, type Io } from '../command/io.ts';
import { agreedToRun, NOT_AGREED } from '../command/first-start.ts';
import { HOST, SHARED_STATE, type CommandSpec } from '../command/spec.ts';
import { indent, painter, table } from '../view/render.ts';

type ServicePlan = Extract<InstallPlan, { kind: 'service' }>;

export const commands: readonly CommandSpec[] = [
  {
    name: 'service install',
    summary: 'let this machine keep the dispatcher of this transport running',
    details: [
      'Shows what it would write and asks. It takes the PATH and the login environment of this shell',
      'along, so run it where the agent CLIs work; keys only by name, with --env.',
    ].join('\n'),
    options: [
      HOST,
      ['--dry-run', 'only show what would be written and run'],
      ['--yes', 'do not ask'],
      ['--env <name>', 'take this variable along, such as an API key; repeatable', 'repeatable'],
      ['--no-start', 'write and enable it, but do not start it'],
      [
        '--system',
        'a systemd unit of the whole machine, started without anybody’s login; for root',
      ],
      ['--user <name>', 'whose agents --system runs (default: who called sudo)'],
      SHARED_STATE,
    ],
    example: 'crosstalk service install',
    run,
  },
  {
    name: 'service uninstall',
    summary: 'stop the service and remove it; mail and state stay',
    example: 'crosstalk service uninstall',
    run,
  },
  {
    name: 'service start',
    summary: 'start the service, and wait until it serves',
    example: 'crosstalk service start',
    run,
  },
  {
    name: 'service stop',
    summary: 'stop the service until it is started again, or the machine is',
    example: 'crosstalk service stop',
    run,
  },
  {
    name: 'service status',
    summary:
      'whether it runs, since when, which version, how it last ended; exit code 1 unless it runs',
    example: 'crosstalk service status',
    run,
  },
];

export async function run(call: Call): Promise<number> {
  const { io, name } = call;
  const machine = await thisMachine(io.env);
  const asked =
    flag(call, 'system') || (name !== 'service install' && (await isForAnother(machine, io.env)));
  if (text(call, 'user') !== undefined && !flag(call, 'system'))
    throw new CrosstalkError('usage', '--user is for a service of the system; add --system');
  const owner = asked ? await serviceUser(io.env, machine.uid, text(call, 'user')) : undefined;
  const env = owner === undefined ? io.env : { ...owner.env, ...sudo(io.env) };
  return inTransport({ ...call, io: { ...io, env } }, (context) => {
    if (name === 'service install')
      return installation(call, context, machine, {
        ...given(call, 'host'),
        names: list(call, 'env'),
        start: call.options['start'] !== false,
        sharedState: flag(call, 'sharedState'),
        ...(flag(call, 'system') && owner !== undefined && { system: owner }),
      });
    return control(call, context, machine);
  });
}

/** Returns the variables by which git knows that root works in the clone of the user who called sudo. */
function sudo(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['SUDO_UID', 'SUDO_GID', 'SUDO_USER', 'CROSSTALK_TRANSPORT', 'CROSSTALK_DEBUG'];
  return Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}

async function control(call: Call, context: Context, machine: Machine): Promise<number> {
  const { io, name } = call;
  switch (name) {
    case 'service start': {
      const done = await startService(context, machine, io.stop);
      return print(call, done, () => `Started: ${done.name}, process ${String(done.pid)}`);
    }
    case 'service stop': {
      const done = await stopService(context, machine, io.stop);
      return print(call, done, () => `Stopped: ${done.name}; it starts again with the machine`);
    }
    case 'service uninstall': {
      const done = await uninstallService(context, machine, io.stop);
      return print(call, done, () =>
        [
          ...done.removed.map((file) => `Removed: ${file}`),
          `Uninstalled: ${done.name}; mail, dead letters and log stay in ${done.kept}`,
        ].join('\n'),
      );
    }
    default: {
      const found = await serviceStatus(context, machine);
      print(call, found, () => renderStatus(found, io));
      return found.state === 'running' ? EXIT.ok : EXIT.failed;
    }
  }
}

async function installation(
  call: Call,
  context: Context,
  machine: Machine,
  input: InstallInput,
): Promise<number> {
  const plan = await planInstall(context, machine, input);
  const dry = flag(call, 'dryRun');
  if (plan.kind === 'plain') {
    print(call, plan, () => plan.advice);
    return dry ? EXIT.ok : EXIT.failed;
  }
  if (dry || !flag(call, 'json')) print(call, planJson(plan), () => describe(plan));
  for (const warning of plan.warnings) note(call, `warning: ${warning}`);
  if (dry) return EXIT.ok;
  if (!(await agreed(call, input))) return EXIT.failed;
  // The approvals of another user are that user's to make.
  if (input.system === undefined && !(await agreedToRun(call, context)))
    throw new CrosstalkError('refused', NOT_AGREED);
  const done = await install(context, machine, input, plan, call.io.stop);
  return print(call, { ...planJson(plan), ...done }, () =>
    done.state === null
      ? `Installed: ${done.name}, not started: ${done.reason ?? ''}`
      : `Installed: ${done.name}, process ${String(done.state.pid)}`,
  );
}

async function agreed(call: Call, { start }: InstallInput): Promise<boolean> {
  if (flag(call, 'yes')) return true;
  if (call.io.ask === undefined)
    throw new CrosstalkError(
      'usage',
      'nothing is written without a yes; look with --dry-run, and say so with --yes',
    );
  const answer = await call.io.ask(`Write this${start ? ' and start it' : ''}? [y/N] `);
  return isYes(answer);
}

function planJson(plan: ServicePlan): Record<string, unknown> {
  return {
    kind: plan.target.kind,
    name: plan.target.name,
    host: plan.alias,
    files: plan.files.map(({ path, mode, shown }) => ({
      path,
      mode: mode.toString(8),
      content: shown,
    })),
    commands: typed(plan.steps),
    replaces: plan.former.map(({ file }) => file),
    left_out: plan.left,
    warnings: plan.warnings,
  };
}

function describe(plan: ServicePlan): string {
  return [
    ...plan.files.flatMap(({ path, mode, shown }) => [
      `File ${path} (mode ${mode.toString(8)})`,
      indent(shown),
      '',
    ]),
    ...(plan.former.length > 0
      ? ['In the place of', indent(plan.former.map(({ file }) => file).join('\n')), '']
      : []),
    ...(plan.left.length > 0
      ? [
          'Not taken along',
          indent(plan.left.map(({ name, why }) => `${name}: ${why}`).join('\n')),
          '',
        ]
      : []),
    'Commands',
    indent(typed(plan.steps).join('\n')),
  ].join('\n');
}

const KINDS: Record<ServiceStatus['kind'], string> = {
  'systemd-user': 'systemd, of the user',
  'systemd-system': 'systemd, of the system',
  launchd: 'launchd',
};

const ENDS: Record<NonNullable<ServiceStatus['last_end']>['how'], string> = {
  stopped: 'was stopped',
  replaced: 'made room for a new version',
  crashed: 'crashed or was killed',
};

const LINGERS = {
  true: 'it starts with the machine and outlives your session',
  false: 'no: it ends when you log out, unless you say: loginctl enable-linger',
};

/** Formats the state first, then the facts, then what to do. */
function renderStatus(s: ServiceStatus, io: Io): string {
  const paint = painter(io);
  const { running, installed } = s.version;
  const version =
    running === null || running === installed
      ? installed
      : `runs ${running}, installed is ${installed}: it is replaced at a quiet moment`;
  const since = s.since === null ? '' : ` since ${s.since}`;
  const rows = [
    ['service', `${s.name} (${KINDS[s.kind]}${s.user === null ? '' : `, as ${s.user}`})`],
    ['serves', s.transport],
    ['process', s.pid === null ? 'none' : `${String(s.pid)}${since}`],
    [
      'starts',
      s.enabled
        ? s.kind === 'systemd-user'
          ? 'with your session'
          : 'with the machine'
        : 'when told to',
    ],
    ...(s.linger === null ? [] : [['lingers', LINGERS[String(s.linger) as 'true' | 'false']]]),
    ...(s.restarts === null ? [] : [['restarts', String(s.restarts)]]),
    ...(s.last_end === null
      ? []
      : [['before', `${ENDS[s.last_end.how]}, last heard of ${s.last_end.at}`]]),
    ['version', version],
    ['file', s.file],
    ['environment', `${s.environment.file}, captured ${s.environment.captured_at ?? 'never'}`],
    ['log', s.log],
  ];
  return [
    paint(s.state === 'running' ? 'green' : 'red', s.state),
    table(rows, '  '),
    ...s.problems.map((problem) => `${paint('yellow', 'note')}: ${problem}`),
  ].join('\n');
}
