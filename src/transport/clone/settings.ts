import { CrosstalkError } from '../../errors.ts';
import { refusedRemote, type Setting } from './access.ts';
import type { Clone } from './clone.ts';
import type { Git } from '../git/git.ts';

/**
 * A changed value of the clone's configuration that git for the bus depends on (a URL, an ssh command, a
 * credential helper, …): it differs from the record made when this machine joined. The recorded value
 * stays in force until the change is accepted (trust.md §1).
 */
export interface SettingChange {
  /** Git's name, such as `remote.origin.url`. */
  name: string;
  /** The values in force, in order; absent when there was none. */
  recorded?: string[];
  /** The values now in the clone's configuration; absent when there is none any more. */
  proposed?: string[];
}

/** The record of the clone's configuration: one file in the state directory. */
export interface Recording {
  version: 1;
  /** The identity of the transport; see `identityOf`. */
  identity?: string;
  /** In force, in git's order. */
  recorded: Setting[];
  /** The configuration when it was last read. */
  seen: {
    stamp: string;
    /** `crosstalk.…` settings that an operator may change at any time. */
    live: Setting[];
    changes: SettingChange[];
  };
}

/**
 * Settings that are recorded: the addresses of the remote and the bell, the way to reach them, the
 * committer, and the commands that are run. Other settings of the clone have no effect on git for the
 * bus.
 */
const RECORDED = new RegExp(
  [
    String.raw`^remote\.origin\.(url|pushurl|proxy|promisor|partialclonefilter)$`,
    String.raw`^core\.(sshcommand|sharedrepository|askpass)$`,
    String.raw`^(credential|http|https|url)\.`,
    String.raw`^ssh\.variant$`,
    String.raw`^user\.(name|email)$`,
    String.raw`^extensions\.(objectformat|partialclone)$`,
    String.raw`^crosstalk\.(branch|ref|agent|bell(name|credentials|ca|cert|key)?)$`,
  ].join('|'),
);
/** Settings that are recorded without asking, even when the first record was lost. */
const HARMLESS =
  /^(remote\.origin\.(url|promisor|partialclonefilter)|user\.|extensions\.|crosstalk\.(branch|ref)$)/;

/** A setting with git's name for the configuration file it comes from. */
export interface Scoped {
  scope: string;
  setting: Setting;
}

/** Parses the output of `git config --list -z --show-scope`. */
export function parseScoped(text: string): Scoped[] {
  const fields = text.split('\0');
  const found: Scoped[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const line = fields[at + 1] ?? '';
    const end = line.indexOf('\n');
    const setting: Setting = end < 0 ? [line, 'true'] : [line.slice(0, end), line.slice(end + 1)];
    found.push({ scope: fields[at] ?? '', setting });
  }
  return found;
}

/**
 * Returns the settings of the clone that git in our own directory would not see: the clone's own, and
 * those of the user that are included only for this folder.
 */
export function ofClone(theirs: readonly Scoped[], ours: readonly Scoped[]): Setting[] {
  const known = new Set(
    ours
      .filter(({ scope }) => scope !== 'local')
      .map(({ scope, setting }) => JSON.stringify([scope, setting])),
  );
  return theirs
    .filter(({ scope }) => scope !== 'command')
    .filter(({ scope, setting }) => !known.has(JSON.stringify([scope, setting])))
    .map(({ setting }) => setting);
}

/** Separates the settings that are recorded from those that apply as they are. */
function sorted(settings: readonly Setting[]): { recorded: Setting[]; live: Setting[] } {
  const recorded = settings.filter(([name]) => RECORDED.test(name));
  const live = settings.filter(([name]) => name.startsWith('crosstalk.') && !RECORDED.test(name));
  return { recorded, live };
}

/** Returns the settings in which two lists differ; the order among the values of one name counts. */
function differences(recorded: readonly Setting[], proposed: readonly Setting[]): SettingChange[] {
  const names = [...new Set([...recorded, ...proposed].map(([name]) => name))].sort();
  return names.flatMap((name) => {
    const [before, after] = [valuesOf(recorded, name), valuesOf(proposed, name)];
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
    return [
      {
        name,
        ...(before.length > 0 && { recorded: before }),
        ...(after.length > 0 && { proposed: after }),
      },
    ];
  });
}

/** Returns the value of a setting; as in git, the last one counts. */
export function valueOf(settings: readonly Setting[], wanted: string): string | undefined {
  return valuesOf(settings, wanted).at(-1);
}

function valuesOf(settings: readonly Setting[], wanted: string): string[] {
  return settings.filter(([name]) => name === wanted).map(([, value]) => value);
}

/** Returns the recorded settings with these changes, and nothing else, put in force. */
export function accepted(
  recorded: readonly Setting[],
  changes: readonly SettingChange[],
): Setting[] {
  const names = new Set(changes.map(({ name }) => name));
  return [
    ...recorded.filter(([name]) => !names.has(name)),
    ...changes.flatMap(({ name, proposed }) =>
      (proposed ?? []).map((value): Setting => [name, value]),
    ),
  ];
}

/**
 * Reads the configuration of the clone, with all its includes. Listing it runs no command.
 *
 * @throws CrosstalkError `git_failed` when it cannot be read: such a clone is never treated as one
 *   without a remote (protocol.md §5); `refused` when its branches are not files
 */
export async function readClone(git: Git, clone: Clone): Promise<Scoped[]> {
  const listed = await git.run(['config', '--list', '-z', '--show-scope'], {
    env: { GIT_DIR: clone.gitDir },
  });
  // When git does not know the clone's format, it ignores the clone's own settings.
  const unknown = /(?:unknown repository extension|Expected git repo version)[^]*/.exec(
    listed.stderr,
  )?.[0];
  const settings = parseScoped(listed.stdout.toString('utf8'));
  const said = settings.findLast(({ setting }) => setting[0] === 'extensions.refstorage');
  const format = unknown?.includes('refstorage') === true ? 'another format' : said?.setting[1];
  if (format !== undefined && format.toLowerCase() !== 'files') throw otherRefs(clone, format);
  if (listed.ok && unknown === undefined) return settings;
  const reason = unknown?.trim().replace(/\s+/g, ' ') ?? (listed.ok ? '' : listed.failure.reason);
  throw new CrosstalkError(
    'git_failed',
    `the configuration of ${clone.dir} cannot be read: ${reason || 'no reason given'}; nothing is lost, look with: git -C ${clone.dir} config --list`,
    { data: { kind: listed.ok ? 'other' : listed.failure.kind } },
  );
}

function otherRefs({ dir }: Clone, format: string): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `the clone ${dir} keeps its branches as ${format} (extensions.refStorage), and crosstalk reads files only; nothing is lost: git -C ${dir} refs migrate --ref-format=files, or join again with: crosstalk init <dir> --remote <url>`,
  );
}

/**
 * Makes the first record of a clone.
 *
 * @param fresh false when this clone had a record that is gone: then settings that could run a command
 *   wait to be accepted
 */
export function firstRecord(
  stamp: string,
  settings: readonly Setting[],
  fresh: boolean,
): Recording {
  const { recorded: found, live } = sorted(settings);
  const recorded = found.filter(([name]) => fresh || HARMLESS.test(name));
  assertUsable(recorded);
  return {
    version: 1,
    recorded,
    seen: { stamp, live, changes: differences(recorded, found) },
  };
}

/** @throws CrosstalkError `refused` for a remote for which git would run a command */
export function assertUsable(settings: readonly Setting[]): void {
  for (const [name, value] of settings) {
    const why = /^remote\.origin\.(url|pushurl)$/.test(name) ? refusedRemote(value) : undefined;
    if (why !== undefined)
      throw new CrosstalkError(
        'refused',
        `${name} is ${JSON.stringify(value)}, which is never used: ${why}; give a URL or a path`,
      );
  }
}

/** Updates the record to the clone's current settings. */
export function seenAgain(
  record: Recording,
  stamp: string,
  settings: readonly Setting[],
): Recording {
  const { recorded, live } = sorted(settings);
  return {
    ...record,
    seen: {
      stamp,
      live,
      // A clone need not name the branch of the bus: then the recorded branch was determined
      // automatically, and stays.
      changes: differences(record.recorded, recorded).filter(
        ({ name, proposed }) => name !== 'crosstalk.branch' || proposed !== undefined,
      ),
    },
  };
}
