import { messageFile } from '../protocol/layout.ts';
import type { Log } from './log.ts';
import type { Scan } from './scan.ts';

/** Logs what scans came upon beside deliveries, each malformed file and each skip once. */
export class ScanReports {
  readonly #log: Log;
  readonly #said = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Malformed files, files changed by somebody, and what only an `@host` kept away. */
  say(scan: Scan): void {
    const unread = scan.unread.map(({ channel, relPath }) => ({
      path: messageFile(channel, relPath),
      reason: 'its content is missing from this clone; delivered when it is found',
    }));
    for (const { path, reason } of [...scan.malformed, ...unread])
      if (this.#isNew(path)) this.#log('message_malformed', { path, reason });
    for (const change of scan.changed) this.#log('message_changed', change);
    for (const skipped of scan.skipped) {
      const key = `${skipped.actor} ${skipped.channel}/${skipped.relPath}`;
      if (this.#isNew(key)) this.#log('route_skipped', { ...skipped });
    }
  }

  /** What an archive took away is no news of its own, however much it is. */
  archived(tip: string, scan: Scan): void {
    this.#log('epoch_begun', { tip, archived: scan.changed.length });
    scan.changed = [];
  }

  #isNew(key: string): boolean {
    const isNew = !this.#said.has(key);
    this.#said.add(key);
    return isNew;
  }
}
