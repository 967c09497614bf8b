import type { UsageSum } from '../../protocol/usage.ts';
import { anthropicUsage } from '../output/claude.ts';
import { objectIn, textIn, type Json } from '../output/reader.ts';
import { money } from '../output/sums.ts';
import { jsonNarrator, SoFar, toolCall, words, type Narrator, type Told } from './told.ts';

/** Messages whose usage may still change: each event of a message states that of the whole message. */
const OPEN = 20;

/** Each event of its stream is a block of a message. */
export function claude(): Narrator {
  const open = new Map<string, UsageSum>();
  const before = new SoFar();
  return jsonNarrator((event) => {
    if (event['type'] === 'result') return resultOf(event);
    if (event['type'] !== 'assistant') return [];
    const { id, content, usage } = objectIn(event['message']);
    open.set(textIn(id) ?? '', anthropicUsage(objectIn(usage)));
    const [oldest] = open;
    if (oldest !== undefined && open.size > OPEN) {
      open.delete(oldest[0]);
      before.add(oldest[1]);
    }
    const blocks = Array.isArray(content) ? content.map(objectIn) : [];
    return [...blocks.flatMap(blockOf), before.with(...open.values())];
  });
}

function blockOf(block: Json): Told[] {
  if (block['type'] === 'tool_use') return [toolCall(block['name'], block['input'])];
  return block['type'] === 'text' ? words('says', block['text']) : [];
}

/** Its text was told before. */
function resultOf(event: Json): Told[] {
  const usage = {
    ...anthropicUsage(objectIn(event['usage'])),
    ...money(event['total_cost_usd']),
  };
  const failed = event['is_error'] === true ? words('fails', event['result']) : [];
  return [...failed, { kind: 'used', usage }];
}
