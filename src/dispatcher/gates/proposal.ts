import type { App } from '../../bus/app.ts';
import { digestOfProposal } from '../../bus/decisions.ts';
import { cancelMessage } from '../../protocol/cancel.ts';
import { type Commit, outgoing } from '../../protocol/outgoing.ts';
import { messageFile } from '../../protocol/layout.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';
import type { Gate } from '../../state/gates.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { Transport } from '../../transport/transport.ts';

type ProposalApp = Pick<App, 'outbox' | 'now' | 'newId' | 'suffix'>;

/** Returns the message that reports to the approver, wherever they are, that no mail waits for a plan any more. */
function takesBack(app: ProposalApp, host: string, gate: Gate, why: string): Commit {
  const { actor, proposal, approver } = gate;
  const target = { relPath: proposal.relPath, message: { to: [{ name: approver }] } };
  const writer = { actor, host, at: app.now() };
  const message = cancelMessage(target, `No longer needed: ${why}.\n`, writer, { only: false });
  return outgoing(message, proposal.channel, host, app.suffix()).commit;
}

/**
 * Puts into the outbox that nothing is to be decided any more.
 *
 * @param host the alias of this machine
 * @returns the id of the entry, which is the same however often this is repeated
 */
export async function takeBack(
  app: ProposalApp,
  host: string,
  gate: Gate,
  why: string,
): Promise<string> {
  const id = `${gate.id}-over`;
  await app.outbox.put({ id, commits: [takesBack(app, host, gate, why)] });
  return id;
}

/** State of a gate's proposal on the bus. */
export type Standing = 'as_written' | 'on_its_way' | 'removed' | 'changed';

/** Compares the file on the bus at the path of a proposal with the one that this machine has written there. */
export async function standingOf(
  { transport, outbox }: { transport: Transport; outbox: Outbox },
  tip: string,
  { proposal }: Gate,
): Promise<Standing> {
  const path = messageFile(proposal.channel, proposal.relPath);
  const text = await transport.objects.text(tip, path);
  if (text !== undefined)
    return digestOfProposal(proposal, text) === proposal.digest ? 'as_written' : 'changed';
  const entries = [...(await outbox.all()), ...(await outbox.held()), ...(await outbox.aside())];
  const isWaiting = entries.some(({ commits }) =>
    commits.some(({ files }) => files.some((file) => file.path === path)),
  );
  return isWaiting ? 'on_its_way' : 'removed';
}

/**
 * Proposes the same plan once more under a new name, because somebody has changed or removed the message with it: the
 * file at its path now cannot be decided on, and the one that this machine has written is shown nowhere.
 *
 * @param host the alias of this machine
 * @returns undefined where the proposal cannot be read from the gate, which this machine has written
 */
export function proposedAnew(app: ProposalApp, host: string, gate: Gate): Gate | undefined {
  const message = proposalIn(gate);
  if (message === undefined) return undefined;
  const { channel } = gate.proposal;
  const again = { ...message, timestamp: app.now().toISOString() };
  const { relPath, commit } = outgoing(again, channel, host, app.suffix());
  const [{ content } = { content: '' }] = commit.files;
  const over = takesBack(app, host, gate, 'its text on the bus was changed, so it is asked anew');
  return {
    ...unannounced(gate),
    proposal: { channel, relPath, digest: digestOfProposal({ channel, relPath }, content) },
    entry: { id: app.newId(), commits: [over, commit] },
    ignored: [],
  };
}

/** Returns a gate whose messages have to be put into the outbox. */
function unannounced(gate: Gate): Gate {
  const copy = { ...gate };
  delete copy.announced;
  return copy;
}

function proposalIn({ proposal, entry }: Gate): Message | undefined {
  const path = messageFile(proposal.channel, proposal.relPath);
  const files = entry.commits.flatMap((commit) => commit.files);
  const file = files.find((one) => one.path === path);
  const read = file && parseMessage(Buffer.from(file.content));
  return read?.ok === true ? read.value : undefined;
}
