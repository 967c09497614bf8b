import { setTimeout as sleep } from 'node:timers/promises';
import type { WebTaken } from '../../api/api.ts';
import { readHosts } from '../../bus/host.ts';
import { readHostReports } from '../../bus/host-reports.ts';
import { awayLine } from '../../present/claims.ts';
import { ago } from '../../present/times.ts';
import { messageKey, type MessageRef, CHANNELS, messageFile } from '../../protocol/layout.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';
import { debtorsOf } from '../../protocol/owed.ts';
import { tipOf, type Context } from '../context.ts';
import { arrivals, type Arrival } from '../lookup/arrivals.ts';
import { believed, marked } from '../lookup/marked.ts';
import { lastHeard } from '../lookup/heard.ts';
import { takenAt } from '../lookup/taken.ts';
import { isPerson, whoHas, servedBy } from '../lookup/people.ts';
import { queuedCancels, queuedMessages, queuedMessage } from '../lookup/queued.ts';
import { cancellationsOf, type Cancellation } from '../lookup/taken-back.ts';
import { deliveryOf, isElsewhere } from '../state/delivery.ts';
import { readLocal } from '../state/local.ts';
import { claimKey, holdUps } from './hold-ups.ts';
import {
  silentHere,
  silentTo,
  interimOf,
  isSettled,
  standingOf,
  type Asked,
  type Standing,
  type World,
} from './standing.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';

/** A message with its answers, and how far it is. */
export interface Followed extends Asked, Standing {
  /** Causes that hold the answer up, a line each. */
  held_up: string[];
  /** The replies that cancel it, and their force. */
  cancellations?: Cancellation[];
}

/** Milliseconds between looks at this machine's state, which no change of the bus announces. */
const LOOK_MS = 1000;
/** The age in milliseconds at which a host that has written nothing since is worth a word. */
const QUIET_MS = 60_000;

/**
 * Follows some messages: the replies on the bus at the newest commit that was looked at, the state of this machine,
 * and the causes that hold their answers up. Looking at the state starts no git.
 */
export class Board {
  readonly #context: Context;
  readonly #asked: Asked[];
  #tip: string;
  #world: World = {
    ...{ serving: [], unreadable: [], people: new Set() },
    ...{ alias: undefined, local: undefined },
  };
  #mark = '';
  readonly #heard = new Map<string, string | null>();
  readonly #seen = new Map<string, number>();

  private constructor(context: Context, tip: string, asked: Asked[]) {
    this.#context = context;
    this.#tip = tip;
    this.#asked = asked;
  }

  /** The board for some messages at a commit. */
  static async at(context: Context, tip: string, refs: readonly MessageRef[]): Promise<Board> {
    return new Board(context, tip, await askedAt(context, tip, refs));
  }

  /** The commit that was looked at. */
  get tip(): string {
    return this.#tip;
  }

  /** Adds the messages that arrived since, without reading the rest of the channels again. */
  async follow(tip: string): Promise<void> {
    for await (const arrived of arrivals(this.#context, this.#tip, tip))
      for (const one of arrived) this.#add(one);
    const { reader } = this.#context;
    for (const one of this.#asked)
      one.question ??= await reader.message(tip, one.ref.channel, one.ref.relPath);
    this.#tip = tip;
  }

  #add({ channel, relPath, message }: Arrival): void {
    if (message.host !== undefined) this.#heard.delete(message.host);
    for (const { ref, question, replies, caused, returned } of this.#asked) {
      if (channel === ref.channel && message.from === question?.from)
        if (interimOf({ replies }).some((word) => message.re.includes(word.relPath)))
          returned.push({ relPath, message });
      const key = messageKey(ref);
      const isHere = channel === ref.channel;
      if (isHere && message.re.includes(ref.relPath)) replies.push({ relPath, message });
      else if ((isHere && message.cause.includes(ref.relPath)) || message.origin?.includes(key))
        caused.push({ relPath, message });
    }
  }

  /**
   * Determines the standing of each message. Silence is believed only if the messages of the actor are on the bus.
   *
   * @param isLive whether this machine's state counts, and not only the bus
   * @param explains whether to find out the causes that hold the answers up
   */
  async look({ isLive, explains }: { isLive: boolean; explains: boolean }): Promise<Followed[]> {
    if (!this.#asked.every(isSettled)) await this.#readWorld(isLive);
    const found: Followed[] = [];
    for (const asked of this.#asked) {
      const standing = await this.#standing(asked, isLive);
      const held_up = explains ? await this.#explain(asked, standing) : [];
      found.push({ ...asked, ...standing, ...(await this.#marked(asked)), held_up });
    }
    return found;
  }

  /** Returns the replies, with whether their writers have signed them, and the force of those that cancel. */
  async #marked({ ref, replies }: Asked): Promise<Pick<Followed, 'replies' | 'cancellations'>> {
    if (replies.length === 0) return { replies };
    const placed = replies.map((one) => ({ ...one, channel: ref.channel }));
    const signed = await marked(this.#context, this.#tip, placed);
    if (signed.every(({ message: { cancels } }) => !cancels)) return { replies: signed };
    return { replies: signed, cancellations: await cancellationsOf(this.#context, ref, replies) };
  }

  async #readWorld(isLive: boolean): Promise<void> {
    const [served, local] = await Promise.all([
      servedBy(this.#context),
      isLive ? readLocal(this.#context) : undefined,
    ]);
    this.#world = { ...served, people: new Set(), alias: local?.alias, local };
    this.#mark = await this.#markOf();
  }

  async #explain(asked: Asked, standing: Standing): Promise<string[]> {
    const heard = await this.#quiet(asked, standing);
    const people = new Set<string>();
    for (const { actor, host } of standing.owing)
      if (
        host === undefined &&
        (await isPerson(this.#context, this.#tip, { name: actor })) === true
      )
        people.add(actor);
    const [away, seen, now] = [await this.#away(standing), this.#seen, this.#context.now()];
    for (const { actor, taken } of standing.owing)
      if (taken !== undefined && !seen.has(claimKey(actor, taken)))
        seen.set(claimKey(actor, taken), now.getTime());
    return holdUps(asked, standing, { ...this.#world, people, away, seen }, heard, now);
  }

  /** Returns why hosts cannot take the work of actors that they share, by their reports. */
  async #away({ owing }: Standing): Promise<Map<string, string>> {
    const lines = new Map<string, string>();
    const open = owing.filter(({ taken }) => !isElsewhere(taken, undefined));
    if (new Set(open.map(({ actor }) => actor)).size === open.length) return lines;
    const { transport, now } = this.#context;
    const hosts = await readHosts(transport, this.#tip);
    for (const [host, { away = [], at }] of await readHostReports(
      transport,
      this.#tip,
      hosts,
      now(),
    ))
      for (const one of away)
        lines.set(`${one.actor}@${host}`, awayLine(host, one, ago(at, now())));
    return lines;
  }

  /** Looks up which hosts have taken a message. */
  async #taken({ ref, question }: Asked): Promise<Map<string, WebTaken>> {
    const { transport } = this.#context;
    const names = question === undefined ? [] : debtorsOf(question, this.#world);
    const taken = new Map<string, WebTaken>();
    for (const actor of new Set(names.map((debtor) => debtor.actor))) {
      const found = await takenAt(transport, this.#tip, { ...ref, actor });
      if (found !== undefined) taken.set(actor, found);
    }
    return taken;
  }

  async #standing(named: Asked, isLive: boolean): Promise<Standing> {
    const replied = await this.#believed(named);
    const asked = isSettled(replied) ? replied : { ...replied, taken: await this.#taken(replied) };
    const now = this.#context.now();
    const believed = standingOf(asked, this.#world, new Set(), now);
    if (!isLive || believed.isOver) return believed;
    const { alias } = this.#world;
    if (!believed.owing.some(({ host }) => host !== undefined && host === alias)) return believed;
    const owing = believed.owing.map(({ actor }) => actor);
    const silent = await silentHere(this.#context, asked.ref, owing);
    for (const actor of [...silent])
      if (await this.#mayStillSpeak(asked.ref, actor)) silent.delete(actor);
    const standing = standingOf(asked, this.#world, silent, now);
    if (standing.silent.length === 0 || (await tipOf(this.#context)) === this.#tip) return standing;
    // Messages that it wrote before it fell silent may have come since.
    return believed;
  }

  /** Removes from a message the cancellations without force. */
  async #believed(asked: Asked): Promise<Asked> {
    const { ref, question } = asked;
    const placed = asked.replies.map((one) => ({ ...one, channel: ref.channel }));
    const replies = [
      ...(await believed(this.#context, this.#tip, placed)),
      ...(await queuedCancels(this.#context, ref)),
    ];
    const isOperators = replies.some(({ message }) => message.as_operator === true);
    if (question === undefined || !isOperators) return { ...asked, replies };
    return {
      ...asked,
      replies,
      isNobodys: (await whoHas(this.#context, question.to)) === undefined,
    };
  }

  /** Whether something of an actor about a message waits in the outbox, or is in another channel. */
  async #mayStillSpeak(ref: MessageRef, actor: string): Promise<boolean> {
    const key = messageKey(ref);
    for (const { channel, content } of await queuedMessages(this.#context)) {
      const parsed = parseMessage(Buffer.from(content));
      if (!parsed.ok || parsed.value.from !== actor) continue;
      const { re, cause, origin = [] } = parsed.value;
      if (channel === ref.channel && [...re, ...cause].includes(ref.relPath)) return true;
      if (origin.includes(key)) return true;
    }
    const { transport } = this.#context;
    return (await transport.filesContaining(this.#tip, CHANNELS, key)).length > 0;
  }

  /** Returns the other hosts that owe an answer and have written nothing since the question was asked. */
  async #quiet({ question }: Asked, { owing }: Standing): Promise<Map<string, string | null>> {
    const quiet = new Map<string, string | null>();
    const { alias, local } = this.#world;
    if (question === undefined || local === undefined) return quiet;
    if (!this.#isOld(question)) return quiet;
    const hosts = new Set(owing.flatMap(({ host }) => (host === alias ? [] : (host ?? []))));
    const unknown = new Set([...hosts].filter((host) => !this.#heard.has(host)));
    if (unknown.size > 0)
      for (const [host, last] of await lastHeard(this.#context, this.#tip, unknown))
        this.#heard.set(host, last);
    for (const host of hosts) {
      const last = this.#heard.get(host) ?? null;
      if (last === null || last < question.timestamp) quiet.set(host, last);
    }
    return quiet;
  }

  #isOld({ timestamp }: Message): boolean {
    return this.#context.now().getTime() - Date.parse(timestamp) >= QUIET_MS;
  }

  /** Aborts the given controller once this machine's state of the messages differs. */
  async watch(changed: AbortController): Promise<void> {
    if (this.#world.local === undefined) return;
    while (!changed.signal.aborted) {
      if (await rest(changed.signal)) return;
      this.#world = { ...this.#world, local: await readLocal(this.#context) };
      if ((await this.#markOf()) !== this.#mark) changed.abort();
    }
  }

  /** Returns a mark of everything besides the bus on which the answers to the messages depend. */
  async #markOf(): Promise<string> {
    const { local } = this.#world;
    if (local === undefined) return '';
    const { runs, heartbeat, paused } = local;
    const now = this.#context.now();
    const silent = await Promise.all(this.#asked.map((one) => silentTo(this.#context, one)));
    return JSON.stringify([
      [runs, paused, local.parked, heartbeat?.joining],
      [heartbeat?.fetch_failing_since, silent],
      this.#asked.map(({ ref, question }) => [
        question !== undefined && this.#isOld(question),
        [...local.actors].map((actor) => {
          const { run, letter } = deliveryOf(local, ref, { actor, tier: null }, now);
          return [run?.since, letter];
        }),
      ]),
    ]);
  }
}

/** Waits for the next look; returns whether there is none. */
async function rest(signal: AbortSignal): Promise<boolean> {
  await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  return signal.aborted;
}

/**
 * Returns the replies on the bus to some messages at a commit. There is nothing to look for about messages that are
 * not there yet.
 */
async function askedAt(
  context: Context,
  tip: string,
  refs: readonly MessageRef[],
): Promise<Asked[]> {
  const asked = await Promise.all(
    refs.map(async (ref): Promise<Asked> => {
      const question = await context.reader.message(tip, ref.channel, ref.relPath);
      return { ref, question, replies: [], caused: [], returned: [] };
    }),
  );
  const there = await isThere(context, tip, asked);
  if (there.length > 0)
    await withNaming(context, tip, async (naming) => {
      for (const one of there) await gather(one, naming);
    });
  for (const one of asked) one.question ??= await queuedMessage(context, one.ref);
  return asked;
}

/** Returns those whose file is at a commit, whether it can be read as a message or not. */
async function isThere({ transport }: Context, tip: string, asked: Asked[]): Promise<Asked[]> {
  const found = await Promise.all(
    asked.map(async ({ ref, question }) => {
      if (question !== undefined) return true;
      const object = `${tip}:${messageFile(ref.channel, ref.relPath)}`;
      return (await transport.objects.read(object)) !== undefined;
    }),
  );
  return asked.filter((_, at) => found[at]);
}

/** Looks for everything that is about a message. */
async function gather(asked: Asked, naming: Naming): Promise<void> {
  const { ref, question } = asked;
  for (const one of await naming(ref, 're_or_cause'))
    (one.message.re.includes(ref.relPath) ? asked.replies : asked.caused).push(one);
  for (const { relPath } of interimOf(asked))
    for (const one of await naming({ channel: ref.channel, relPath }, 're'))
      if (one.message.from === question?.from) asked.returned.push(one);
}
