import type { Log } from '../../log.ts';
import { installedAt, type Installed } from '../../service/installed.ts';
import type { CommandRunner } from '../../service/run.ts';

/** Milliseconds; an installation whose files are younger than this may not be complete. */
const SETTLED_MS = 2000;
/** The least time between two looks, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Notices that another version of this program was installed in the place from which this one was
 * started.
 *
 * It compares the files at the start with the current ones, so the version that is started next
 * finds nothing to replace. A version that cannot be started replaces nothing: the old one keeps
 * running.
 */
export class Replacement {
  readonly #entry: string;
  readonly #started: Installed | undefined;
  readonly #run: CommandRunner;
  readonly #log: Log;
  #looked = 0;
  #judged: { build: string; starts: boolean } | undefined;

  private constructor(entry: string, started: Installed | undefined, run: CommandRunner, log: Log) {
    this.#entry = entry;
    this.#started = started;
    this.#run = run;
    this.#log = log;
  }

  /** @param entry the file that was executed, by the name that was used */
  static async of(entry: string, run: CommandRunner, log: Log): Promise<Replacement> {
    return new Replacement(entry, await installedAt(entry), run, log);
  }

  /** The version to make room for, if it differs from this one, is complete and can be started. */
  async successor(now: number): Promise<string | undefined> {
    if (now - this.#looked < LOOK_MS) return undefined;
    this.#looked = now;
    const started = this.#started;
    const there = started && (await installedAt(this.#entry));
    if (there === undefined || there.build === started?.build) return undefined;
    if (now - there.since < SETTLED_MS) return undefined;
    if (this.#judged?.build !== there.build) {
      const tried = await this.#run([process.execPath, this.#entry, 'dispatch', '--help']);
      const starts = tried.code === 0;
      if (!starts)
        this.#log('replacement_failed', {
          version: there.version,
          reason: tried.stderr.trim().slice(0, 500),
        });
      this.#judged = { build: there.build, starts };
    }
    return this.#judged.starts ? there.version : undefined;
  }
}
