import { codexUsage } from '../output/codex.ts';
import { objectIn, type Json } from '../output/reader.ts';
import { jsonNarrator, SoFar, toolCall, words, type Narrator, type Told } from './told.ts';

/** Tells an item when it begins, if it takes time, and else when it is complete. */
export function codex(): Narrator {
  const used = new SoFar();
  return jsonNarrator((event) => {
    switch (event['type']) {
      case 'item.started':
        return begunItem(objectIn(event['item']));
      case 'item.completed':
        return completeItem(objectIn(event['item']));
      case 'error':
        return words('fails', event['message']);
      case 'turn.failed':
        return words('fails', objectIn(event['error'])['message']);
      case 'turn.completed':
        return [used.add(codexUsage(objectIn(event['usage'])))];
      default:
        return [];
    }
  });
}

function begunItem(item: Json): Told[] {
  if (item['type'] === 'command_execution') return [toolCall('shell', item['command'])];
  return item['type'] === 'mcp_tool_call' ? [toolCall(item['tool'], item['arguments'])] : [];
}

function completeItem(item: Json): Told[] {
  if (item['type'] === 'agent_message') return words('says', item['text']);
  if (item['type'] === 'web_search') return [toolCall('web search', item['query'])];
  if (item['type'] !== 'file_change') return [];
  const changes = Array.isArray(item['changes']) ? item['changes'].map(objectIn) : [];
  return [toolCall('files', changes.map(({ path }) => path).join(' '))];
}
