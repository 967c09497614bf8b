import { MAX_BATCH_BYTES } from '../../protocol/conversation.ts';
import { steeringPrompt } from '../../protocol/prompt/steering-prompt.ts';
import { inLine } from '../../protocol/text/structure.ts';
import type { RunningCli } from '../../runner/runner.ts';
import type { Tell } from '../steering/run-steering.ts';
import { unaccepted } from './acceptance.ts';
import { brief, type Briefing } from './briefing.ts';
import type { Job, JobResult, RunParts } from './job.ts';

/** Of what a run is told, a transcript shows no more characters. */
const MOST_SHOWN = 500;

/**
 * How the agent of a run is told a message of the same run, which came while it was at work. The message is one that
 * the run might have begun with: whose tasks its tier serves, how much one run is given, and how often it may start,
 * holds for it too. An agent that is told something often begins again, so it counts as a start.
 *
 * @param about `briefing` is that of the run with all that it was told; `isLimited`: whether a budget applies to it
 */
export function tellerOf(
  parts: RunParts,
  job: Job,
  about: { briefing: Briefing; isLimited: boolean },
  cli: RunningCli,
): Tell {
  return async (message) => {
    const briefing = await brief(parts, job);
    const added = briefing.batch.find(({ relPath }) => relPath === message);
    if (added === undefined || briefing.unread.length > 0)
      return { no: 'it cannot be read in this clone' };
    if (briefing.cancelled.has(message)) return { no: 'it was taken back' };
    const turnedAway = await unaccepted(parts, job, { ...briefing, batch: [added] });
    if (turnedAway !== undefined) return { no: turnedAway.why };
    // What is told costs more, and nothing bounds how much: a run is handed what is left of a budget once.
    if (about.isLimited)
      return { no: 'its tier has a budget, from which each run is paid by itself' };
    const bytes = briefing.batch.reduce(
      (sum, { message: { body } }) => sum + Buffer.byteLength(body),
      0,
    );
    if (bytes > MAX_BATCH_BYTES)
      return { no: 'the run has been given as much as one run is given' };
    if (!(await parts.guards.mayTell(job)))
      return { no: 'its tier may not start anything just now' };
    const { batch, plans: answers } = briefing;
    const words = steeringPrompt({ word: parts.secret(8), added, batch, answers });
    const { from, body } = added.message;
    parts.transcribing.tell(job.id, `${from}, meanwhile: ${inLine(body).slice(0, MOST_SHOWN)}`);
    if (cli.steer === undefined) {
      // A process for one prompt cannot be told anything.
      cli.cancel();
      await parts.guards.told(job);
      return 'ended';
    }
    const reached = await cli.steer(words);
    if (reached === 'late') return reached;
    await parts.guards.told(job);
    if (reached !== 'ended') about.briefing = briefing;
    return reached;
  };
}

/** The answers that take in what their run was told say so. */
export function withSteered(ended: JobResult, { steering }: Job): JobResult {
  const taken = steering?.taken ?? [];
  if (ended.kind !== 'answered' || taken.length === 0) return ended;
  const answers = ended.answers.map(({ channel, message }) => {
    const steered = taken.filter((one) => message.re.includes(one.message));
    return { channel, message: { ...message, ...(steered.length > 0 && { steered }) } };
  });
  return { ...ended, answers };
}
