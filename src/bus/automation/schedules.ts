import { parseSchedule, type Schedule } from '../../protocol/automation/schedule.ts';
import { SCHEDULES, isName } from '../../protocol/layout.ts';
import { unreadable, type Parsed } from '../../protocol/text/result.ts';
import type { TreeEntry } from '../../transport/objects/tree.ts';
import type { Transport } from '../../transport/transport.ts';

/** A file of a folder with one setting in each, such as `local/schedules/`, at a commit. */
export interface SettingFile<T> {
  /** The stem of its name; for a file that cannot be read, any text. */
  name: string;
  path: string;
  oid: string;
  text: string;
  result: Parsed<T>;
}
export type ScheduleFile = SettingFile<Schedule>;

/** The files of a commit, by name. */
interface Found<T> {
  files: SettingFile<T>[];
  /** Number of files that were skipped because there are too many. */
  beyond: number;
}
export type FoundSchedules = Found<Schedule>;

/** Maximum number of files of a folder, as anyone who can push can add any number of them. */
const MOST_FILES = 250;
const FILE = /^([^/]+)\.md$/;

/** A reader of the files of a folder; a file unchanged since the last commit is not read again. */
export class SettingFiles<T> {
  readonly #transport: Pick<Transport, 'list' | 'objects'>;
  readonly #folder: string;
  readonly #parse: (text: string, name: string) => Parsed<T> | Promise<Parsed<T>>;
  #read = new Map<string, SettingFile<T>>();
  #last: { commit: string; found: Found<T> } | undefined;

  constructor(
    transport: Pick<Transport, 'list' | 'objects'>,
    folder: string,
    parse: (text: string, name: string) => Parsed<T> | Promise<Parsed<T>>,
  ) {
    this.#transport = transport;
    this.#folder = folder;
    this.#parse = parse;
  }

  /**
   * Returns every file at a commit, by name. Without files only the folder is looked up; a second call
   * for the same commit reads nothing.
   *
   * @param known called when there are too many files: returns the names that come first, so that a flood
   *   displaces none
   */
  async at(
    commit: string,
    known: () => Promise<Pick<ReadonlySet<string>, 'has'>> = () => Promise.resolve(new Set()),
  ): Promise<Found<T>> {
    if (this.#last?.commit === commit) return this.#last.found;
    const entries = await this.#transport.list(commit, [this.#folder]);
    const all = entries.flatMap((entry) => {
      const name = FILE.exec(entry.path.slice(this.#folder.length + 1))?.[1];
      return name === undefined || entry.type === 'tree' ? [] : [{ ...entry, name }];
    });
    const isFlood = all.length > MOST_FILES;
    const first = isFlood ? await known() : new Set<string>();
    const order = [true, false].flatMap((is) => all.filter(({ name }) => first.has(name) === is));
    const taken = order.slice(0, MOST_FILES);
    const files = await Promise.all(taken.map((entry) => this.#file(entry)));
    this.#read = new Map(files.map((file) => [`${file.path} ${file.oid}`, file]));
    files.sort((a, b) => (a.name < b.name ? -1 : 1));
    const found = { files, beyond: all.length - taken.length };
    if (!isFlood) this.#last = { commit, found };
    return found;
  }

  async #file({ name, path, oid, mode }: TreeEntry & { name: string }): Promise<SettingFile<T>> {
    const known = this.#read.get(`${path} ${oid}`);
    if (known !== undefined) return known;
    const isPlain = mode.startsWith('100');
    const content =
      isPlain && isName(name) ? (await this.#transport.objects.read(oid))?.content : undefined;
    const text = content?.toString('utf8') ?? '';
    const result = !isPlain
      ? unreadable('it is a link, expected a file')
      : isName(name) && content === undefined
        ? unreadable('its content is not here, or is larger than 1 MiB')
        : await this.#parse(text, name);
    return { name, path, oid, text, result };
  }
}

export class ScheduleFiles extends SettingFiles<Schedule> {
  constructor(transport: Pick<Transport, 'list' | 'objects'>) {
    super(transport, SCHEDULES, parseSchedule);
  }
}

/** Maximum number of commits to some files that are searched. */
const MOST_COMMITS = 1000;

/**
 * Returns the last commit times of files of the bus, by path, in milliseconds since 1970 by the
 * committer's clock. Files are missing that were written before a time, or before a thousand commits to
 * any of them. History is walked once for all files, and only as far back as that.
 */
export async function committedSince(
  transport: Pick<Transport, 'git'>,
  tip: string,
  paths: readonly string[],
  since: Date,
): Promise<Map<string, number>> {
  const limits = [`--max-count=${String(MOST_COMMITS)}`, `--since=${since.toISOString()}`];
  const form = ['--format=@%ct', '--name-only', '-c', '--no-renames'];
  const out = await transport.git(['log', ...form, ...limits, tip, '--', ...paths]);
  const found = new Map<string, number>();
  let seconds = NaN;
  for (const line of out.split('\n'))
    if (line.startsWith('@')) seconds = Number(line.slice(1));
    else if (line !== '' && Number.isFinite(seconds) && !found.has(line))
      found.set(line, seconds * 1000);
  return found;
}
