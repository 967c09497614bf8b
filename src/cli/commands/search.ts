import { CrosstalkError } from '../../errors.ts';
import { search, type SearchHit, type SearchResult } from '../../actions/reading/search.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { given, inTransport, note, print, text, wordsOf, type Call } from '../command/command.ts';
import { verifiedMark } from '../view/message.ts';
import { colourless, indent, painter } from '../view/render.ts';
import { sinceOf } from '../command/values.ts';
import { SEARCH, type WholeNumber } from '../../present/parameters.ts';
import { localTime } from '../../present/times.ts';
import { CHANNEL, type CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'search',
    args: '<words...>',
    summary: 'find messages by words, "phrases" and beginnings*, best first',
    options: [
      CHANNEL,
      ['--from <name>', SEARCH.from],
      ['--since <when>', SEARCH.since],
      ['--limit <n>', SEARCH.limit.text],
      ['--skip <n>', SEARCH.skip.text],
      ['--context <n>', SEARCH.context.text],
    ],
    inRun: true,
    selectsByWriter: true,
    example: 'crosstalk search rate limit',
    paged: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const words = wordsOf(call);
  const limit = count(call, 'limit', SEARCH.limit, SEARCH.limit.most);
  const around = count(call, 'context', SEARCH.context);
  const skip = count(call, 'skip', SEARCH.skip);
  return inTransport(call, async (context) => {
    const filters = { ...given(call, 'channel', 'from'), ...sinceOf(call) };
    const input = { words, limit, skip, context: around, ...filters };
    const result = await search(context, input);
    say(call, result, skip);
    print(call, result, () => result.hits.map((hit) => render(call, hit)).join('\n\n'));
    return 0;
  });
}

/** Prints notes that the results alone do not convey. */
function say(
  call: Call,
  { hits, more, some_words: some, capped, complete }: SearchResult,
  skipped: number,
): void {
  if (hits.length === 0) note(call, 'nothing found');
  if (more)
    note(call, `more messages match; the next ones with: --skip ${String(skipped + hits.length)}`);
  if (some) note(call, 'no message has all the words; these have some of them');
  if (capped) note(call, 'very many messages match; the newest of them were ranked');
  if (!complete)
    note(
      call,
      'the index is still being built, newest messages first; older ones are found after: crosstalk doctor index',
    );
}

function render({ io }: Call, hit: SearchHit): string {
  const paint = painter(io);
  const head = [
    paint('bold', `${hit.from} → ${hit.to.join(', ')}`),
    ...verifiedMark(paint, hit.verified),
    paint('dim', `${localTime(new Date(hit.timestamp))}  ${hit.channel_name}`),
    paint('cyan', hit.relPath),
  ].join('  ');
  if (hit.context.length === 0) return `${head}\n${indent(colourless(hit.excerpt))}`;
  const lines = hit.context.map((one) => {
    const mark = one.hit ? '>' : ' ';
    const from = [one.from, ...verifiedMark(paint, one.verified)].join(' ');
    const who = `${mark} ${from} ${paint('dim', suffixOf(one.relPath))}`;
    return `${who}\n${indent(colourless(one.hit ? hit.excerpt : one.excerpt), '    ')}`;
  });
  return `${head}\n${indent(lines.join('\n'))}`;
}

function count(call: Call, name: string, { least, most }: WholeNumber, otherwise = 0): number {
  const given = text(call, name);
  if (given === undefined) return otherwise;
  const value = Number(given);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new CrosstalkError(
    'usage',
    `--${name} is ${shown(given)}, expected a number from ${String(least)} to ${String(most)}`,
  );
}
