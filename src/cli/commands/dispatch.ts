import { openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { levelOf, type EventName, type Fields, type Log } from '../../dispatcher/log.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { dispatch } from '../../operations/dispatch.ts';
import { shown } from '../../protocol/result.ts';
import { flag, given, inTransport, note, text, type Call } from '../command.ts';
import { EXIT } from '../exit.ts';
import { liveView } from '../live-view.ts';

export function run(call: Call): Promise<number> {
  const { io } = call;
  const interval = seconds(call, 'interval', '30', 0.05);
  const grace = seconds(call, 'grace', '10', 0);
  const log = logger(call);
  return inTransport(call, async (context) => {
    const { problem } = await dispatch(context, {
      interval,
      grace,
      once: flag(call, 'once'),
      fromNow: flag(call, 'fromNow'),
      trustHostFile: flag(call, 'trustHostFile'),
      ...given(call, 'host'),
      log,
      stop: io.stop,
      hurry: io.hurry,
    });
    if (problem === undefined) return EXIT.ok;
    note(call, problem);
    return EXIT.failed;
  });
}

/** JSON lines on stderr or in a file; for eyes on a terminal, unless `--json` is given. */
function logger(call: Call): Log {
  const { io } = call;
  const file = text(call, 'log');
  if (file === undefined && io.errIsTty && !flag(call, 'json')) return liveView(io);
  let write = io.err;
  if (file !== undefined) {
    const descriptor = openLog(resolve(io.cwd, file));
    write = (line) => {
      writeSync(descriptor, line);
    };
  }
  return (event: EventName, fields: Fields = {}) => {
    write(
      `${JSON.stringify({ ts: new Date().toISOString(), level: levelOf(event), event, ...fields })}\n`,
    );
  };
}

function openLog(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw new CrosstalkError(
      'usage',
      `--log ${path} cannot be opened: ${reasonOf(error)}; name another file`,
      { cause: error },
    );
  }
}

/** Milliseconds from an option in seconds. */
function seconds(call: Call, name: string, fallback: string, least: number): number {
  const value = Number(text(call, name) ?? fallback);
  if (Number.isFinite(value) && value >= least && value <= 86_400) return value * 1000;
  throw new CrosstalkError(
    'usage',
    `--${name} is ${shown(text(call, name))}, expected seconds from ${String(least)} to 86400; try --${name} ${fallback}`,
  );
}
