import { messageFile } from '../../protocol/layout.ts';
import type { Log } from '../../log.ts';
import type { CancelFound } from './scan-findings.ts';
import type { Scan } from './scan.ts';

/** The most malformed and changed files of one scan that get a line each. */
const LINES = 100;
/** The number of reports that are remembered; beyond it some may be logged again. */
const REMEMBERED = 10_000;

/**
 * Logs what scans found beside deliveries: each malformed file and each skipped message once. It keeps
 * the messages that take others back, until they are honoured.
 */
export class ScanReports {
  readonly #log: Log;
  readonly #said = new Set<string>();
  /** Oldest first. */
  readonly cancels: CancelFound[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Logs malformed files, changed files, and messages that did not reach an actor only because of an `@host`. */
  say(scan: Scan): void {
    this.cancels.push(...scan.cancels);
    const unread = scan.unread.map(({ channel, relPath }) => ({
      path: messageFile(channel, relPath),
      reason: 'its content is missing from this clone; delivered when it is found',
    }));
    const malformed = scan.malformed.named.filter(({ path }) => this.#isNew(path));
    for (const one of malformed.slice(0, LINES)) this.#log('message_malformed', { ...one });
    const more = Math.max(0, malformed.length - LINES) + scan.malformed.more;
    if (more > 0) this.#log('message_malformed', { more, next: 'crosstalk status' });
    for (const { path, reason } of unread)
      if (this.#isNew(path)) this.#log('message_malformed', { path, reason });
    const { changed } = scan;
    for (const one of changed.named.slice(0, LINES)) this.#log('message_changed', { ...one });
    const moreChanged = Math.max(0, changed.named.length - LINES) + changed.more;
    if (moreChanged > 0) this.#log('message_changed', { more: moreChanged });
    for (const skipped of scan.skipped) {
      const key = `${skipped.actor} ${skipped.channel}/${skipped.relPath}`;
      if (this.#isNew(key)) this.#log('route_skipped', { ...skipped });
    }
  }

  /** Logs the files that an archive removed as one event, however many they are. */
  archived(tip: string, scan: Scan): void {
    this.#log('epoch_begun', { tip, archived: scan.changed.named.length + scan.changed.more });
    scan.changed = { named: [], more: 0 };
  }

  #isNew(key: string): boolean {
    const isNew = !this.#said.has(key);
    if (this.#said.size >= REMEMBERED) this.#said.clear();
    this.#said.add(key);
    return isNew;
  }
}
