import { guideOn, guideTopics } from '../../../actions/lookup/guide.ts';
import { print, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { table } from '../../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'guide',
    args: '[topic]',
    summary: 'what an agent can read up on in a run: sending, files, notes, ...',
    standalone: true,
    inRun: true,
    example: 'crosstalk guide files',
    run,
  },
];

/** `guide`: the topics that a run can read about, or the text of one. */
async function run(call: Call): Promise<number> {
  const [topic] = call.args;
  if (topic !== undefined) {
    const found = await guideOn(topic);
    return print(call, found, () => found.text.trimEnd());
  }
  const topics = await guideTopics();
  return print(call, topics, () => table(topics.map((one) => [one.topic, one.title])));
}
