import type { DispatcherApp } from '../bus/app.ts';
import { messageKey, placeOfRef, relPathAt } from '../protocol/layout.ts';
import { reasonOf } from '../errors.ts';
import { threadRoot } from '../protocol/thread.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { Transcribing } from './transcribing/transcribing.ts';
import { dropWorktree, isSpare, lookAtWorktree } from '../bus/worktrees.ts';

/** Dependencies of {@link WorkspaceSweep}. */
interface SweepApp
  extends WorktreeApp, Pick<DispatcherApp, 'workspaces' | 'reader' | 'deadLetters'> {
  deliveries: Pick<Deliveries, 'mailboxes'>;
  transcribing: Pick<Transcribing, 'sweep'>;
  sessions: { kept: Pick<Sessions['kept'], 'sweep'> } & WorktreeApp['sessions'];
}

const HOUR_MS = 3_600_000;
/** Milliseconds for which a workspace is kept after its thread's last activity (trust.md §1). */
const KEPT_MS = 7 * 24 * HOUR_MS;
/** The most messages of a channel that are examined. In a channel with more, nothing is removed. */
const MAX_RECENT = 5000;

/**
 * Removes workspaces whose thread has had no message and no run for seven days and that no delivery and no pooled
 * process needs (a clock may jump past these days), the letters of messages cancelled so long ago, and old
 * transcripts. It runs at the start and every hour, beside the delivery of messages, and reads messages only if a
 * workspace has not been used for that long.
 */
export class WorkspaceSweep {
  readonly #app: SweepApp;
  #next = 0;
  #sweeping: Promise<void> | undefined;

  constructor(app: SweepApp) {
    this.#app = app;
  }

  /** Starts a sweep when one is due and none is under way. */
  tidy(tip: string | undefined): void {
    const now = this.#app.now().getTime();
    if (tip === undefined || now < this.#next || this.#sweeping !== undefined) return;
    this.#next = now + HOUR_MS;
    this.#sweeping = this.#sweep(tip)
      .catch((error: unknown) => {
        this.#app.log('internal_error', { error: `old workspaces: ${reasonOf(error)}` });
      })
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  /** Resolves when no sweep is under way. */
  async finish(): Promise<void> {
    await this.#sweeping;
  }

  async #sweep(tip: string): Promise<void> {
    const { workspaces, now, log } = this.#app;
    const edge = new Date(now().getTime() - KEPT_MS);
    await this.#app.transcribing.sweep();
    // It may know of files that went with its workspace.
    await this.#app.sessions.kept.sweep(edge);
    await this.#forgetCancelled(edge);
    await sweepWorktrees(this.#app, edge);
    const unused = await workspaces.unusedSince(edge);
    if (unused.length === 0) return;
    const alive = new Set<string>();
    const crowded = new Set<string>();
    // A thread may continue in another channel than the one it started in.
    for (const { id } of await this.#app.reader.channels(tip)) {
      const roots = await this.#aliveIn(tip, id, edge);
      if (roots === undefined) crowded.add(id);
      for (const root of roots ?? []) alive.add(root);
    }
    const removed: string[] = [];
    for (const workspace of unused) {
      const { actor, root, channel } = workspace.record;
      if (crowded.has(channel) || alive.has(`${channel}/${root}`)) continue;
      if (this.#app.sessions.warm.keeps(workspace.record)) continue;
      if (await workspaces.removeUnused(workspace, edge)) removed.push(`${actor}/${root}`);
    }
    if (removed.length > 0) log('workspaces_removed', { count: removed.length, threads: removed });
  }

  /** Removes the letters of messages cancelled before a time: the cancellation is on record. */
  async #forgetCancelled(edge: Date): Promise<void> {
    const { deadLetters } = this.#app;
    for (const { id, state, last_failed_at: at } of await deadLetters.all())
      if (state === 'cancelled' && at < edge.toISOString()) await deadLetters.remove(id);
  }

  /**
   * Returns the first messages, with their channels, of the threads that are active in a channel; undefined when the
   * channel has too many messages.
   */
  async #aliveIn(tip: string, channel: string, edge: Date): Promise<Set<string> | undefined> {
    const { reader, deliveries, deadLetters } = this.#app;
    const recent = await reader.since(tip, channel, relPathAt(edge, '00000000'), MAX_RECENT + 1);
    if (recent.length > MAX_RECENT) return undefined;
    const needed = [
      ...deliveries.mailboxes.unsettled(channel),
      ...(await deadLetters.all())
        .filter((letter) => letter.channel === channel && letter.state !== 'cancelled')
        .flatMap(({ messages }) => messages),
    ];
    const all = [...recent, ...(await reader.messages(tip, channel, needed))];
    const lookup = await reader.chain(tip, channel, all);
    return new Set(
      all.map((message) => {
        const root = placeOfRef(channel, threadRoot([message], lookup));
        return messageKey(root);
      }),
    );
  }
}

/** Dependencies for removing copies of repositories. */
interface WorktreeApp extends Pick<DispatcherApp, 'worktrees' | 'env' | 'log' | 'now'> {
  sessions: { warm: Pick<Sessions['warm'], 'keeps'> };
}

/**
 * Removes the copies of repositories in which no run has worked since a time and with which nothing is lost
 * (work.md): the branch of the thread is in the repository, where the thread goes on if there is more to do. Only
 * copies so old are looked at, and none in which a pooled process works.
 */
export async function sweepWorktrees(
  { worktrees, sessions, env, log, now }: WorktreeApp,
  edge: Date,
): Promise<void> {
  const removed: string[] = [];
  for (const worktree of await worktrees.all()) {
    if (Date.parse(worktree.record.used) >= edge.getTime()) continue;
    if (sessions.warm.keeps(worktree.record)) continue;
    if (!worktrees.claim(worktree)) continue;
    try {
      const listed = await lookAtWorktree(env, worktree, { inUse: false });
      if (!isSpare(listed, now())) continue;
      if (await dropWorktree(worktrees, worktree)) removed.push(worktree.id);
    } finally {
      worktrees.leave(worktree);
    }
  }
  if (removed.length > 0) log('worktrees_removed', { count: removed.length, worktrees: removed });
}
