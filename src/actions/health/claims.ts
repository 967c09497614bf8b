import { contendersFor, isPool } from '../../bus/claims.ts';
import { CLAIMS, isRelPath } from '../../protocol/layout.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { claimLine } from '../../present/claims.ts';
import { act, type Finding } from '../../present/finding.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/words.ts';
import { tipOf, type Context } from '../context.ts';
import { newestFirst, readFiles, type Arrival } from '../lookup/arrivals.ts';
import { servedBy, type Served } from '../lookup/people.ts';
import { hasClaims, shownClaims } from '../lookup/taken.ts';
import { channelsOf } from '../view.ts';

/** The most messages whose claims are looked at, the newest first. */
const LOOKED_AT = 200;

/** A claim that no host stands behind, in words. */
interface Stray {
  path: string;
  words: string;
}

/**
 * Returns what is wrong with the claims on the newest messages: those that no host stands behind, and hosts that run
 * what others have taken. None of it keeps other mail from moving. A bus without claims is not looked at.
 */
export async function claimWarnings(context: Context): Promise<Finding[]> {
  const { transport } = context;
  const tip = await tipOf(context);
  if (!(await hasClaims(transport, tip))) return [];
  const served = await servedBy(context);
  const { messages, claimed } = await newestOf(context, tip);
  const strays: Stray[] = [];
  const hosts = new Set<string>();
  for (const { channel, relPath, actor } of claimed) {
    const of = { channel, relPath, actor };
    for (const claim of await shownClaims(transport, tip, of, served.serving)) {
      if (claim.host !== null) hosts.add(claim.host);
      // A host that was removed after it had ended its claim is nobody's concern.
      const isPast = claim.end !== null && !claim.known && claim.faults.length === 1;
      if (claim.faults.length > 0 && !isPast)
        strays.push({
          path: `${CLAIMS}/${channel}/${relPath}/${actor}`,
          words: `${actor}, message ${relPath}, ${claimLine(claim)}`,
        });
    }
  }
  return [
    ...strayFinding(strays),
    ...(await plainFinding(context, tip, messages, { served, hosts })),
  ];
}

function strayFinding(strays: readonly Stray[]): Finding[] {
  const [first] = strays;
  if (first === undefined) return [];
  const { path, words } = first;
  const which =
    strays.length === 1
      ? 'one claim that no host stands behind'
      : `${String(strays.length)} claims that no host stands behind, the first`;
  const fix = `see who pushed it with: git log -- ${path}; if a message waits for it, send it again`;
  return [act({ check: 'claims', found: escapeInvisible(`${which}: ${words}`), fix })];
}

/** Returns a finding on hosts that have answered what they share with others, and have never claimed any of it. */
async function plainFinding(
  context: Context,
  tip: string,
  messages: readonly Arrival[],
  { served, hosts }: { served: Served; hosts: ReadonlySet<string> },
): Promise<Finding[]> {
  const { transport } = context;
  const questions = new Map(messages.map((one) => [`${one.channel}/${one.relPath}`, one]));
  const plain = new Set<string>();
  for (const { channel, message } of messages) {
    const { from: actor, host } = message;
    if (host === undefined || hosts.has(host) || plain.has(host) || !isAnswer(message)) continue;
    if (!served.serving.some((one) => one.alias === host && one.actors.includes(actor))) continue;
    const asked = message.re.flatMap((path) => questions.get(`${channel}/${path}`) ?? []);
    for (const { relPath, message: question } of asked) {
      const { re, cause, to, one = false } = question;
      // What belongs to a thread that somebody has claimed needs no claim of its own.
      if (re.length > 0 || cause.length > 0) continue;
      if (!to.some((address) => address.name === actor && address.host === undefined)) continue;
      if (!one && !(await isPool(transport, tip, actor))) continue;
      const asked = { channel, relPath, actor, isOne: one };
      const [contenders] = await contendersFor(transport, tip, [asked]);
      if ((contenders?.length ?? 0) > 1) plain.add(host);
    }
  }
  if (plain.size === 0) return [];
  const found = `${someOf([...plain])} ${plain.size === 1 ? 'answers' : 'answer'} what one of several hosts is to take, without a claim, so such a task runs twice`;
  const fix = 'install this program there, or take the actor out of the host file there';
  return [act({ check: 'claims', found, fix })];
}

/** Returns the newest messages, and the folders of claims beside them. */
async function newestOf(
  context: Context,
  tip: string,
): Promise<{
  messages: Arrival[];
  claimed: { channel: string; relPath: string; actor: string }[];
}> {
  const { transport } = context;
  const channels = (await channelsOf(context)).map(({ id }) => id);
  const messages: Arrival[] = [];
  const claimed: { channel: string; relPath: string; actor: string }[] = [];
  const folders = async (folder: string): Promise<string[]> =>
    (await transport.list(tip, [folder])).flatMap(({ path, type }) =>
      type === 'tree' ? [path.slice(folder.length + 1)] : [],
    );
  for await (const files of newestFirst(context, tip, channels, '')) {
    const some = files.slice(0, LOOKED_AT - messages.length);
    messages.push(...(await readFiles(context, some)));
    const days = new Set(some.map(({ channel, relPath }) => `${channel}/${relPath.slice(0, 10)}`));
    for (const day of days) {
      const [channel = ''] = day.split('/', 1);
      for (const name of (await folders(`${CLAIMS}/${day}`)).slice(0, LOOKED_AT)) {
        const relPath = `${day.slice(channel.length + 1)}/${name}`;
        if (!isRelPath(relPath)) continue;
        const actors = (await folders(`${CLAIMS}/${channel}/${relPath}`)).slice(0, MOST_ACTORS);
        claimed.push(...actors.map((actor) => ({ channel, relPath, actor })));
      }
    }
    if (messages.length >= LOOKED_AT) break;
  }
  return { messages, claimed };
}

/** The most actors of a message whose claims are looked at. */
const MOST_ACTORS = 8;
