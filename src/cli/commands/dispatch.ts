import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { withoutCredentialsIn } from '../../credentials.ts';
import { levelOf, type EventName, type LogFields, type Log } from '../../log.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { dispatch } from '../../actions/dispatching/dispatch.ts';
import { RotatingLog } from '../../actions/tracing/logs.ts';
import { flag, given, inTransport, note, text, type Call, print } from '../command/command.ts';
import { durationOf } from '../command/values.ts';
import { EXIT } from '../command/io.ts';
import { agreedToRun, NOT_AGREED } from '../command/first-start.ts';
import { HOST, SHARED_STATE, type CommandSpec } from '../command/spec.ts';
import { liveView } from '../view/live.ts';
import { wake } from '../../actions/upkeep/pause.ts';

const DAY_MS = 86_400_000;

const WAKE: CommandSpec = {
  name: 'dispatch wake',
  summary: 'tell the running dispatcher to look now',
  example: 'crosstalk dispatch wake',
  run: tellDispatcher,
};

export const commands: readonly CommandSpec[] = [
  {
    name: 'dispatch',
    summary: 'run the dispatcher: deliver mail to this machine’s actors',
    options: [
      HOST,
      [
        '--interval <time>',
        'between polls when nothing happens (default: 5, or more for many transports)',
      ],
      ['--once', 'one full pass, then exit'],
      ['--from-now', 'new actors start at the tip instead of at what is unanswered'],
      ['--trust-host-file', 'run changed commands without approval'],
      ['--grace <time>', 'what running CLIs get to finish on stopping (default: 10)'],
      [
        '--log <file>',
        'append the log there instead of stderr; begun anew at 10 MiB, five are kept',
      ],
      ['--supervised', 'for service managers: end with 75 when a new version waits to be started'],
      SHARED_STATE,
    ],
    details:
      'An idle machine hears of other machines’ mail by its next poll, or at once where git config crosstalk.bell names a NATS server; status says which. Without --interval it polls every 5 seconds, more slowly where this machine serves many transports.',
    interrupt: 'clean',
    example: 'crosstalk dispatch',
    run,
  },
  WAKE,
  { ...WAKE, name: 'wake', hidden: true },
];

export function run(call: Call): Promise<number> {
  const { io } = call;
  const interval =
    text(call, 'interval') === undefined
      ? {}
      : { interval: durationOf(call, 'interval', { fallback: '5', least: 50, most: DAY_MS }) };
  const grace = durationOf(call, 'grace', { fallback: '10', least: 0, most: DAY_MS });
  const log = logger(call);
  return inTransport(call, async (context) => {
    if (!flag(call, 'trustHostFile') && !(await agreedToRun(call, context))) {
      note(call, NOT_AGREED);
      return EXIT.failed;
    }
    const { problem, successor } = await dispatch(context, {
      ...interval,
      grace,
      once: flag(call, 'once'),
      fromNow: flag(call, 'fromNow'),
      trustHostFile: flag(call, 'trustHostFile'),
      supervised: flag(call, 'supervised'),
      sharedState: flag(call, 'sharedState'),
      ...given(call, 'host'),
      log,
      stop: io.stop,
      hurry: io.hurry,
    });
    if (successor !== undefined) {
      note(call, `ends so that the installed version ${successor} can be started`);
      return EXIT.replaced;
    }
    if (problem === undefined) return EXIT.ok;
    note(call, problem);
    return EXIT.failed;
  });
}

/** Makes the log: JSON lines on stderr or in a file; readable lines on a terminal, unless `--json` is given. */
function logger(call: Call): Log {
  const { io } = call;
  const file = text(call, 'log');
  if (file === undefined && io.errIsTty && !flag(call, 'json')) {
    const view = liveView(io);
    return (event, fields = {}) => {
      view(event, withoutCredentialsIn(fields));
    };
  }
  let write = io.err;
  if (file !== undefined) {
    const opened = openLog(resolve(io.cwd, file), flag(call, 'supervised'));
    write = (line) => {
      opened.write(line);
    };
  }
  return (event: EventName, fields: LogFields = {}) => {
    write(
      `${JSON.stringify({ ts: new Date().toISOString(), level: levelOf(event), event, ...withoutCredentialsIn(fields) })}\n`,
    );
  };
}

/** @param ours whether the folder of the file is ours, so that it is created if it is missing */
function openLog(path: string, ours: boolean): RotatingLog {
  try {
    if (ours) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return new RotatingLog(path);
  } catch (error) {
    throw new CrosstalkError(
      'usage',
      `--log ${path} cannot be opened: ${reasonOf(error)}; name another file`,
      { cause: error },
    );
  }
}

function tellDispatcher(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const woken = await wake(context);
    return print(call, woken, () => `Woken: process ${String(woken.pid)}`);
  });
}
