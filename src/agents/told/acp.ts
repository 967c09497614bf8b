import { costOf, errorOf, isNotice, usageOf } from '../output/acp.ts';
import { objectIn, textIn } from '../output/reader.ts';
import { jsonNarrator, toolCall, words, type Narrator, type Told } from './told.ts';

/**
 * Tells a turn of the Agent Client Protocol. Text comes in pieces, which are told as one once something else
 * comes.
 */
export function acp(): Narrator {
  let text = '';
  const said = (): Told[] => {
    const all = words('says', text);
    text = '';
    return all;
  };
  /** Tools whose input was not there when they were called. */
  const open = new Set<string>();
  const called = (update: Record<string, unknown>): Told[] => {
    const id = textIn(update['toolCallId']) ?? '';
    const input = objectIn(update['rawInput']);
    const title = textIn(update['title']);
    const isKnown = Object.keys(input).some((name) => name !== 'cwd');
    if (update['sessionUpdate'] === 'tool_call') open.add(id);
    if (!open.has(id) || (!isKnown && !isOver(update))) return [];
    open.delete(id);
    const name = textIn(update['name']) ?? textIn(update['kind']) ?? title;
    return [...said(), toolCall(name, isKnown ? input : title)];
  };
  const { line } = jsonNarrator((event) => {
    const update = objectIn(objectIn(event['params'])['update']);
    if (event['method'] === 'session/update')
      switch (update['sessionUpdate']) {
        case 'agent_message_chunk':
          if (!isNotice(update)) text += textIn(objectIn(update['content'])['text']) ?? '';
          return [];
        case 'tool_call':
        case 'tool_call_update':
          return called(update);
        case 'usage_update': {
          const usd = costOf(update);
          return usd === undefined ? [] : said();
        }
        default:
          return [];
      }
    if (event['method'] === undefined && event['error'] !== undefined)
      return [...said(), ...words('fails', errorOf(objectIn(event['error'])))];
    const result = objectIn(event['result']);
    if (result['stopReason'] === undefined) return [];
    const usage = usageOf(result);
    return [...said(), ...(usage === undefined ? [] : [{ kind: 'used' as const, usage }])];
  });
  return { line, end: said };
}

function isOver({ status }: Record<string, unknown>): boolean {
  return status === 'completed' || status === 'failed';
}
