import { resolve } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { logs, type LogLine } from '../../actions/tracing/logs.ts';
import { shown } from '../../protocol/text/result.ts';
import { flag, inTransport, note, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { lineOf } from '../view/live.ts';
import { colourless, painter } from '../view/render.ts';
import { sinceOf } from '../command/values.ts';
import { localTime } from '../../present/times.ts';
import type { CommandSpec } from '../command/spec.ts';

const DEFAULT_LIMIT = '50';
const LEVELS = ['debug', 'info', 'warn', 'error'];

export const commands: readonly CommandSpec[] = [
  {
    name: 'logs',
    summary: 'what the dispatcher did: the log of the service, or of dispatch --log',
    options: [
      ['-f, --follow', 'go on with what comes, until Ctrl-C'],
      ['--limit <n>', 'at most so many lines, the newest (default: 50)'],
      ['--level <level>', 'only from this level up: debug, info, warn, error'],
      ['--since <when>', 'only since a date, a date and time, today, or so long ago: 2h, 3d'],
      ['--file <path>', 'another log than that of the service'],
    ],
    interrupt: 'clean',
    example: 'crosstalk logs --follow',
    paged: true,
    lines: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const { io } = call;
  const json = flag(call, 'json');
  const limit = limitOf(call);
  const least = levelOf(call);
  const render = renderer(call);
  return inTransport(call, async ({ paths }) => {
    const given = text(call, 'file');
    const path = given === undefined ? paths.log : resolve(io.cwd, given);
    const wanted = (line: LogLine): boolean =>
      (least === undefined || LEVELS.indexOf(line.level) >= least) &&
      (json || render(line, least) !== undefined);
    const follow = flag(call, 'follow') ? io.stop : undefined;
    let count = 0;
    for await (const line of logs(path, { limit, wanted, ...sinceOf(call) }, follow)) {
      io.out(json ? `${line.raw}\n` : `${render(line, least) ?? ''}\n`);
      count++;
    }
    if (count === 0 && follow === undefined)
      note(
        call,
        `nothing in ${path}; it is written by the service (crosstalk service install) and by: crosstalk dispatch --log ${given ?? path}`,
      );
    return EXIT.ok;
  });
}

/**
 * Formats an event as one line, as the dispatcher shows it on a terminal; undefined for events of
 * no interest.
 */
function renderer({ io }: Call): (line: LogLine, least: number | undefined) => string | undefined {
  const paint = painter(io);
  return ({ ts, level, event, fields }, least) => {
    const said = lineOf(event, fields) ?? (least === 0 ? event.replaceAll('_', ' ') : undefined);
    if (said === undefined) return undefined;
    const text = colourless(said.replace(/\s+/g, ' '));
    const time = paint('dim', localTime(new Date(ts)));
    if (level === 'error') return `${time} ${paint('red', text)}`;
    return `${time} ${level === 'warn' ? paint('yellow', text) : text}`;
  };
}

function limitOf(call: Call): number {
  const given = text(call, 'limit') ?? DEFAULT_LIMIT;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new CrosstalkError(
    'usage',
    `--limit is ${shown(given)}, expected how many lines; try --limit ${DEFAULT_LIMIT}`,
  );
}

function levelOf(call: Call): number | undefined {
  const given = text(call, 'level');
  if (given === undefined) return undefined;
  const level = LEVELS.indexOf(given);
  if (level >= 0) return level;
  throw new CrosstalkError(
    'usage',
    `--level is ${shown(given)}, expected one of ${LEVELS.join(', ')}; try --level warn`,
  );
}
