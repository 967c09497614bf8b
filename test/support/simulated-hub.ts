import { admit } from '../../src/transport/publish/admit.ts';
import { blobId } from '../../src/transport/publish/loose-object.ts';
import type { Upstream } from '../../src/transport/publish/upstream.ts';
import type { Commit } from '../../src/protocol/outgoing.ts';
import type { Objects } from '../../src/transport/objects/objects.ts';
import type { Transport } from '../../src/transport/transport.ts';

type Files = ReadonlyMap<string, string>;

/** What a push meets: nothing, no network, or a remote that takes it and whose answer is lost. */
export type Net = 'up' | 'cut' | 'lost';

/** A branch in memory that only a push from its tip moves, as git does it. */
export class SimulatedHub {
  readonly #trees = new Map<string, Files>();
  readonly #texts = new Map<string, string>();
  readonly #commits = new Map<string, readonly Commit[]>();
  /** Called before the branch moves, with the files that it has and what is added to them. */
  onPush: (before: Files, commits: readonly Commit[]) => void = () => undefined;
  tip: string;

  constructor(files: Record<string, string>) {
    this.tip = this.#keep(new Map(Object.entries(files)), []);
  }

  get files(): Files {
    return this.at(this.tip);
  }

  /** Returns the files at a commit. */
  at(commit: string): Files {
    return this.#trees.get(commit) ?? new Map<string, string>();
  }

  /** Pushes files as anybody may who has access. */
  edit(files: Record<string, string>): void {
    this.tip = this.#keep(new Map([...this.files, ...Object.entries(files)]), []);
  }

  #keep(files: Files, commits: readonly Commit[]): string {
    const id = this.#trees.size.toString(16).padStart(40, '0');
    this.#trees.set(id, files);
    this.#commits.set(id, commits);
    for (const text of files.values()) this.#texts.set(oidOf(text), text);
    return id;
  }

  /** Builds commits on another, for a push that may come. */
  build(from: string, commits: readonly Commit[]): string {
    const added = commits.flatMap(({ files }) =>
      files.map(({ path, content }) => [path, content] as const),
    );
    return this.#keep(new Map([...this.at(from), ...added]), commits);
  }

  /** Moves the branch, if it is where it is expected. */
  move(from: string, to: string): boolean {
    if (this.tip !== from) return false;
    this.onPush(this.files, this.#commits.get(to) ?? []);
    this.tip = to;
    return true;
  }

  /** The objects of git, as far as claims and conditions read them. */
  get objects(): Pick<Objects, 'read' | 'text'> {
    const text = (commit: string, path: string): Promise<string | undefined> =>
      Promise.resolve(this.at(commit).get(path));
    const found = (type: string, content: string, oid = oidOf(content)) => {
      const bytes = Buffer.from(content);
      return { oid, type, size: bytes.length, content: bytes };
    };
    const read = (name: string) => {
      const [commit = '', path] = name.split(':', 2);
      const files = this.at(commit);
      const one = path === undefined ? this.#texts.get(name) : files.get(path);
      if (one !== undefined) return Promise.resolve(found('blob', one));
      const isFolder = [...files.keys()].some((file) => file.startsWith(`${path ?? ''}/`));
      return Promise.resolve(isFolder ? found('tree', '') : undefined);
    };
    return { read, text };
  }
}

const oidOf = (text: string): string => blobId('sha1', Buffer.from(text));

/** A clone of a hub: what one machine knows of it, and how its pushes fare. */
export class SimulatedClone {
  readonly #hub: SimulatedHub;
  tip: string;
  net: Net = 'up';

  constructor(hub: SimulatedHub) {
    this.#hub = hub;
    this.tip = hub.tip;
  }

  /** Asks the remote; returns whether it has answered. */
  fetch(): boolean {
    if (this.net === 'cut') return false;
    this.tip = this.#hub.tip;
    return true;
  }

  /** What the program reads of git. */
  get transport(): Transport {
    const hub = this.#hub;
    const { objects } = hub;
    const list = (commit: string, [folder = '']: readonly string[]) =>
      Promise.resolve(
        [...hub.at(commit)].flatMap(([path, text]) => {
          const isInside =
            path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes('/');
          return isInside ? [{ path, mode: '100644', type: 'blob', oid: oidOf(text) }] : [];
        }),
      );
    // Who added a message is asked of history: all are there from the start.
    const git = (args: readonly string[]) =>
      Promise.resolve(`:${'0'.repeat(40)}\n${args.slice(args.indexOf('--') + 1).join('\n')}`);
    const tip = () => Promise.resolve(this.tip);
    return { objects, list, git, tip } as unknown as Transport;
  }

  /** The bus as a push uses it. */
  get upstream(): Upstream {
    const hub = this.#hub;
    const away = { kind: 'unreachable', reason: 'no network' } as const;
    return {
      isShared: true,
      tip: () => Promise.resolve(this.tip),
      fetch: () => Promise.resolve(this.fetch() ? { ok: true } : { ok: false, failure: away }),
      make: () => Promise.resolve(away),
      admit: (tip, entries) => admit(hub.objects as Objects, tip, entries),
      build: (tip = '', commits) => Promise.resolve({ ok: true, oid: hub.build(tip, commits) }),
      move: (from = '', to, { onTaken }) => {
        if (this.net === 'cut') return Promise.resolve(away);
        if (!hub.move(from, to))
          return Promise.resolve({ kind: 'behind', reason: 'fetch first' } as const);
        if (this.net === 'lost') return Promise.resolve(away);
        onTaken?.();
        this.tip = to;
        return Promise.resolve(undefined);
      },
    };
  }
}
