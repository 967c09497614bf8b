import { CrosstalkError } from '../../errors.ts';
import { readMessageJson } from '../../actions/shapes/as-json.ts';
import { findFile, shownMessage, type ReadMessage } from '../../actions/reading/read.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { noteSeen } from '../../actions/lookup/seen.ts';
import { formatAddress } from '../../protocol/address.ts';
import { putFiles, type PutFiles } from '../../actions/reading/message-files.ts';
import { takeStagedFiles } from '../../actions/sending/in-run.ts';
import { newIdempotencyKey } from '../../actions/sending/handed.ts';
import { clockOf } from '../../actions/clock.ts';
import { flag, inTransport, note, print, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { fileLine, putLine, actor, body, verifiedMark } from '../view/message.ts';
import type { CommandSpec } from '../command/spec.ts';
import { colourless, painter, table } from '../view/render.ts';
import { localTime } from '../../present/times.ts';
import { talkRows } from '../../present/talk.ts';
import { cancelledWords } from '../../present/marks.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'read',
    args: '<message>',
    summary: 'one message whole',
    options: [
      ['--raw', 'the file as it is in git'],
      [
        '--files <dir>',
        'put the files it brings along into this folder, or a new one in it if it holds others; each verified',
      ],
    ],
    inRun: true,
    example: 'crosstalk read 1f2e3d4c',
    paged: true,
    run,
    inSandbox,
  },
];

async function run(call: Call): Promise<number> {
  const [given = ''] = call.args;
  const raw = flag(call, 'raw');
  assertOptions(call);
  return inTransport(call, async (context) => {
    if (raw) {
      call.io.outBytes((await findFile(context, given)).bytes);
      return EXIT.ok;
    }
    const read = await shownMessage(context, given);
    const dir = text(call, 'files');
    if (dir === undefined) {
      const name = resolveFrom(context, undefined, call.io.login);
      await noteSeen(context, name, [{ ...read, channel: read.channel.id }]);
      return print(call, readMessageJson(read), () => render(call, read));
    }
    return report(call, await putFiles(context, read, dir));
  });
}

/** Writes the files of a message in a sandbox: the dispatcher passes them on to this process. */
async function inSandbox(call: Call): Promise<number | undefined> {
  assertOptions(call);
  const dir = text(call, 'files');
  const { agentMode, cwd } = call.io;
  if (dir === undefined || agentMode?.runDir === undefined) return undefined;
  const [message = ''] = call.args;
  const marks = newIdempotencyKey(clockOf(call.io));
  const tell = (line: string): void => {
    note(call, line);
  };
  const surroundings = { agentMode, cwd, runDir: agentMode.runDir };
  return report(call, await takeStagedFiles(surroundings, marks, { message, dir }, tell));
}

function assertOptions(call: Call): void {
  const raw = flag(call, 'raw');
  if (raw && flag(call, 'json'))
    throw new CrosstalkError('usage', '--raw and --json were given; give one of them');
  if (raw && text(call, 'files') !== undefined)
    throw new CrosstalkError('usage', '--raw and --files were given; give one of them');
  // An empty name would be the current folder, as where a variable of a script is not set.
  if (text(call, 'files') === '')
    throw new CrosstalkError(
      'usage',
      '--files "" names no folder; give one, such as . for this one',
    );
}

/** Reports the files; one that is not available is never passed over. */
function report(call: Call, { files, elsewhere }: PutFiles): number {
  for (const file of files) if (file.path === undefined) note(call, putLine(file));
  const put = files.filter(({ path }) => path !== undefined);
  if (files.length === 0) note(call, `the message brings no files along${nearby(elsewhere)}`);
  const json = files.map(({ file, path = null, problem = null }) => ({ ...file, path, problem }));
  print(call, json, () => put.map(putLine).join('\n'));
  return put.length < files.length ? EXIT.failed : EXIT.ok;
}

/** Words where a thread has files that were perhaps meant. */
function nearby([first, ...more]: readonly string[]): string {
  if (first === undefined) return '';
  const which = [first, ...more].join(', ');
  return `; in its thread ${which} ${more.length > 0 ? 'do' : 'does'}: crosstalk read ${first} --files <dir>`;
}

function render({ io }: Call, read: ReadMessage): string {
  const { message, verified, channel, path, queued, cancelled, force } = read;
  const paint = painter(io);
  const { from, to, type, timestamp, tier, host, re, cause, files = [], extra } = message;
  const rows: [string, string | undefined][] = [
    ['from', [actor(paint, from), ...verifiedMark(paint, verified)].join('  ')],
    ['to', to.map((address) => actor(paint, formatAddress(address))).join(', ')],
    ['channel', `${channel.name} (${channel.id})`],
    ['time', `${localTime(new Date(timestamp))} (${timestamp})`],
    ['type', type === 'text' ? undefined : type],
    ['tier', tier],
    ['host', host],
    ...re.map((one): [string, string] => ['re', one]),
    ...cause.map((one): [string, string] => ['cause', one]),
    ...talkRows(message, force),
    ['cancelled', cancelled && cancelledWords(cancelled)],
    ...files.map((file): [string, string] => ['file', fileLine(file)]),
    ['path', path],
    ['state', queued ? 'in the outbox, not on the remote yet' : undefined],
    ...Object.entries(extra).map(([key, value]): [string, string] => [
      colourless(key).replace(/\s/g, ' '),
      colourless(JSON.stringify(value)),
    ]),
  ];
  const shown = rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return [table(shown), '', body(paint, message.body)].join('\n').trimEnd();
}
