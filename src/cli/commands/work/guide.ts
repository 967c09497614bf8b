import { guideOn, guideTopics } from '../../../operations/lookup/guide.ts';
import { print, type Call } from '../../command/command.ts';
import { table } from '../../view/render.ts';

/** `guide`: the topics that a run can read about, or the text of one. */
export async function run(call: Call): Promise<number> {
  const [topic] = call.args;
  if (topic !== undefined) {
    const found = await guideOn(topic);
    return print(call, found, () => found.text.trimEnd());
  }
  const topics = await guideTopics();
  return print(call, topics, () => table(topics.map((one) => [one.topic, one.title])));
}
