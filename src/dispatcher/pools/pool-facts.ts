import type { DispatcherApp } from '../../bus/app.ts';
import type { ActiveHost } from '../../bus/approvals.ts';
import { claimsAt, contendersAt, contendersFor, isPool, type Claims } from '../../bus/claims.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { claimFolder, claimPlace, type Claimed } from '../../protocol/claim.ts';
import { CLAIMS } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Message } from '../../protocol/message.ts';
import type { Scan } from '../intake/scan.ts';

/** Number of messages after which what was found out is forgotten, to be found out again. */
const MOST_KNOWN = 50_000;

/** A message with its place and its addressee here. */
export type PoolMail = Pick<Delivery, 'actor' | 'channel' | 'relPath' | 'message'>;

/**
 * Facts of a tip about pools: which actors are pools, who contends for a message, and which claims stand. For actors
 * that are none it reads nothing.
 */
export class PoolFacts {
  readonly #app: Pick<DispatcherApp, 'transport' | 'paths' | 'now'>;
  /** Actors whose mail may have to be claimed; once in it, they stay. */
  readonly #suspects = new Set<string>();
  /** Actors whose pool goes on here, as its end is not approved. */
  readonly #kept = new Set<string>();
  /** By folder of claims: hosts that contend, null where each runs it. */
  readonly #contenders = new Map<string, string[] | null>();
  /** The same for what comes now, by actor. */
  readonly #atTip = new Map<string, string[] | null>();
  /** Reads of claims; one that was begun before a change is not the answer after it. */
  readonly #claims = new Map<string, Promise<Claims | undefined>>();
  #tip: string | undefined;
  #hasClaims = false;
  #alias: string | undefined;

  constructor(app: Pick<DispatcherApp, 'transport' | 'paths' | 'now'>) {
    this.#app = app;
  }

  /** The alias of this host. */
  get host(): string {
    return this.#alias ?? '';
  }

  /** The commit scanned last. */
  get tip(): string {
    return this.#tip ?? '';
  }

  /**
   * Notes what a scan has found: changed profiles and claims.
   *
   * @param since returns the commits from which mail may still wait, at a start
   * @returns whether it was the first
   */
  async follow(
    { alias, actors }: ActiveHost,
    tip: string,
    scan: Scan | undefined,
    since: () => Promise<readonly string[]>,
  ): Promise<boolean> {
    const isFirst = this.#alias === undefined;
    this.#alias = alias;
    for (const path of scan?.claims ?? []) this.#forget(path);
    const isMoved = this.#tip !== tip && (isFirst || scan?.configured === true);
    this.#tip = tip;
    if (!isMoved) {
      // Nothing was configured in between: what holds at the tip held when they were added.
      for (const one of scan?.deliveries ?? [])
        if (this.mayConcern(one.actor, one.message))
          this.#contenders.set(
            claimFolder(one),
            await this.#contendersAtTip(one.actor, { isOne: this.#isOne(one) }),
          );
      return isFirst;
    }
    this.#claims.clear();
    this.#atTip.clear();
    const { transport } = this.#app;
    const commits = new Set([tip, ...(isFirst ? await since() : [])]);
    for (const actor of actors.keys()) {
      for (const commit of commits)
        if (!this.#suspects.has(actor) && (await isPool(transport, commit, actor)))
          this.#suspects.add(actor);
      const { pool, profile } = await profileInForce(this.#app, tip, actor);
      if (pool !== true || profile?.serve === 'one') this.#kept.delete(actor);
      else for (const names of [this.#kept, this.#suspects]) names.add(actor);
    }
    if (isFirst) this.#hasClaims = (await transport.objects.read(`${tip}:${CLAIMS}`)) !== undefined;
    return isFirst;
  }

  /** Whether any of some hosts still serves an actor. */
  async #isServedBy(actor: string, hosts: readonly string[]): Promise<boolean> {
    const now = await this.#contendersAtTip(actor, { isOne: true });
    return now?.some((host) => hosts.includes(host)) === true;
  }

  /** Returns the hosts that contend for a message that comes now. */
  async #contendersAtTip(actor: string, { isOne }: { isOne: boolean }): Promise<string[] | null> {
    const key = `${actor} ${String(isOne)}`;
    const known = this.#atTip.get(key);
    if (known !== undefined) return known;
    const found = (await contendersAt(this.#app.transport, this.tip, actor, { isOne })) ?? null;
    this.#atTip.set(key, found);
    return found;
  }

  /** Finds out who contends for messages that came before this start, or beside a change of configuration. */
  async learn(messages: readonly PoolMail[]): Promise<void> {
    if (this.#contenders.size > MOST_KNOWN) this.#contenders.clear();
    const unknown = messages
      .filter((one) => !this.#contenders.has(claimFolder(one)))
      .map(({ actor, channel, relPath, message }) => {
        const isOne = this.#isOne({ actor, message });
        return { actor, channel, relPath, isOne };
      });
    const open: typeof unknown = [];
    for (const one of unknown)
      if (await this.#isAlone(one)) this.#contenders.set(claimFolder(one), [this.host]);
      else open.push(one);
    if (open.length === 0) return;
    const found = await contendersFor(this.#app.transport, this.tip, open);
    for (const [index, one] of open.entries()) {
      const contenders = found[index] ?? null;
      // An actor that was moved takes its mail along.
      const isLeft = contenders !== null && !(await this.#isServedBy(one.actor, contenders));
      this.#contenders.set(claimFolder(one), isLeft ? [] : contenders);
    }
  }

  /** Whether no other host can have a message, or take it: history need not be asked. */
  async #isAlone({ actor, isOne }: { actor: string; isOne: boolean }): Promise<boolean> {
    if (this.#hasClaims) return false;
    const now = await this.#contendersAtTip(actor, { isOne });
    return now?.length === 1 && now[0] === this.host;
  }

  /**
   * Returns deliveries in the order in which this host claims them: of so many as there are hosts each begins with
   * another one, so that they do not all push for the first.
   */
  inTurn(deliveries: Delivery[]): Delivery[] {
    const contested = deliveries.filter((one) => this.isContested(one));
    const [first] = contested;
    const hosts = (first && this.#contenders.get(claimFolder(first))) ?? [];
    const at = hosts.indexOf(this.host);
    if (first === undefined || at <= 0) return deliveries;
    const head = contested.slice(0, hosts.length);
    const begin = at % head.length;
    const turned = [...head.slice(begin), ...head.slice(0, begin)];
    const rest = new Set(head);
    return [...turned, ...deliveries.filter((one) => !rest.has(one))];
  }

  #forget(path: string): void {
    const place = claimPlace(path);
    this.#hasClaims = true;
    if (place !== undefined) this.#claims.delete(claimFolder(place));
  }

  /** Whether a message may have to be claimed. */
  mayConcern(actor: string, message: Pick<Message, 'one'>): boolean {
    return this.#suspects.has(actor) || message.one === true;
  }

  /** Whether a job without mail of its own may belong to a claim. */
  mayBelong(actor: string): boolean {
    return this.#suspects.has(actor) || this.#hasClaims;
  }

  /** Whether a message goes to one host, whatever its actor's profile says. */
  #isOne({ actor, message }: Pick<PoolMail, 'actor' | 'message'>): boolean {
    return message.one === true || this.#kept.has(actor);
  }

  /** Whether a message is known to need no claim. */
  isFree(of: Claimed): boolean {
    const contenders = this.#contenders.get(claimFolder(of));
    return contenders === null || contenders?.length === 1;
  }

  /** Whether several hosts contend for a message, by what was found out before. */
  isContested(of: Claimed): boolean {
    const contenders = this.#contenders.get(claimFolder(of));
    return contenders !== undefined && contenders !== null && contenders.length !== 1;
  }

  /**
   * Determines whether a task may run here: `free` where each host runs it, or only this one can; `elsewhere` where
   * others contend; `contested` where it has to be claimed.
   */
  async rightTo({
    actor,
    channel,
    relPath,
    message,
  }: PoolMail): Promise<'free' | 'contested' | 'elsewhere'> {
    if (message.to.some((to) => to.name === actor && to.host !== undefined)) return 'free';
    const of = { actor, channel, relPath };
    const key = claimFolder(of);
    if (!this.#contenders.has(key)) await this.learn([{ actor, channel, relPath, message }]);
    const contenders = this.#contenders.get(key) ?? null;
    if (contenders === null) return 'free';
    if (contenders.length > 0 && !contenders.includes(this.host)) return 'elsewhere';
    return contenders.length === 1 ? 'free' : 'contested';
  }

  /** Returns the claims of a message on the newest tip that is known here. */
  claimsOf(of: Claimed): Promise<Claims | undefined> {
    const key = claimFolder(of);
    const known = this.#claims.get(key);
    if (known !== undefined) return known;
    const found = this.#read(of);
    this.#claims.set(key, found);
    found.catch(() => {
      if (this.#claims.get(key) === found) this.#claims.delete(key);
    });
    return found;
  }

  async #read(of: Claimed): Promise<Claims | undefined> {
    const { transport } = this.#app;
    const tip = await transport.tip();
    return tip === undefined ? undefined : claimsAt(transport, tip, of);
  }

  /** Reads the claims of a message anew, after a push. */
  claimsNow(of: Claimed): Promise<Claims | undefined> {
    this.#claims.delete(claimFolder(of));
    return this.claimsOf(of);
  }

  /** Forgets a message that is settled. */
  drop(key: string): void {
    this.#claims.delete(key);
    this.#contenders.delete(key);
  }
}
