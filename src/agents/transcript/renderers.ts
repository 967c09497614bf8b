import { type Renderer, jsonRenderer, toolCall, words, type Event, SoFar } from './event.ts';
import { costOf, errorOf, isNotice, usageOf } from '../output/acp.ts';
import { objectIn, textIn, type Json, textsOf } from '../output/reader.ts';
import type { UsageSum } from '../../protocol/usage.ts';
import { anthropicUsage, money } from '../output/claude.ts';
import {
  codexUsage,
  OUTPUT_FORMATS,
  gemini as reading,
  opencodeError,
  opencodeUsage,
  piError,
  piUsage,
} from '../output/formats.ts';

/** Narrates a run of pi: a tool when it starts, and a message once it is complete. */
function pi(): Renderer {
  const used = new SoFar();
  return jsonRenderer((event) => {
    if (event['type'] === 'tool_execution_start')
      return [toolCall(event['toolName'], event['args'])];
    const message = objectIn(event['message']);
    if (event['type'] !== 'message_end' || message['role'] !== 'assistant') return [];
    return [
      ...words('says', textsOf(message['content'])),
      ...words('fails', piError(message)),
      used.add(piUsage(objectIn(message['usage']))),
    ];
  }, OUTPUT_FORMATS['pi']?.noise);
}

/** Narrates a run of opencode, which prints each part of its answer once it is complete, and the usage of each step. */
function opencode(): Renderer {
  const used = new SoFar();
  return jsonRenderer((event) => {
    const part = objectIn(event['part']);
    switch (event['type']) {
      case 'text':
        return words('says', part['text']);
      case 'tool_use':
        return [toolCall(part['tool'], objectIn(part['state'])['input'])];
      case 'error':
        return words('fails', opencodeError(objectIn(event['error'])));
      case 'step_finish':
        return [used.add(opencodeUsage(part))];
      default:
        return [];
    }
  });
}

/** Most characters of gemini's output that are kept; nothing is narrated from a longer one. */
const MAX_KEPT = 256 * 1024;

/** Narrates a run of gemini. Its JSON is one object at the end, over many lines, so nothing is known before. */
function gemini(): Renderer {
  let reader = reading();
  let kept = 0;
  return {
    line: (text) => {
      kept += text.length + 1;
      if (kept > MAX_KEPT) reader = reading();
      else reader.line(text);
      return [];
    },
    end: () => {
      const { text, error, usage } = reader.end('');
      return [
        ...words('says', text),
        ...words('fails', error),
        ...(usage === undefined ? [] : [{ kind: 'used', usage } as const]),
      ];
    },
  };
}

/** Narrates a run of codex: an item that takes time when it starts, any other when it is complete. */
function codex(): Renderer {
  const used = new SoFar();
  return jsonRenderer((event) => {
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

function begunItem(item: Json): Event[] {
  if (item['type'] === 'command_execution') return [toolCall('shell', item['command'])];
  return item['type'] === 'mcp_tool_call' ? [toolCall(item['tool'], item['arguments'])] : [];
}

function completeItem(item: Json): Event[] {
  if (item['type'] === 'agent_message') return words('says', item['text']);
  if (item['type'] === 'web_search') return [toolCall('web search', item['query'])];
  if (item['type'] !== 'file_change') return [];
  const changes = Array.isArray(item['changes']) ? item['changes'].map(objectIn) : [];
  return [toolCall('files', changes.map(({ path }) => path).join(' '))];
}

/** Most messages whose usage may still change: each event of a message states that of the whole message. */
const OPEN = 20;

/** Narrates a run of claude. Each event of its stream is a block of a message. */
function claude(): Renderer {
  const open = new Map<string, UsageSum>();
  const before = new SoFar();
  return jsonRenderer((event) => {
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

function blockOf(block: Json): Event[] {
  if (block['type'] === 'tool_use') return [toolCall(block['name'], block['input'])];
  return block['type'] === 'text' ? words('says', block['text']) : [];
}

/** Narrates the result, except for its text, which came before. */
function resultOf(event: Json): Event[] {
  const usage = {
    ...anthropicUsage(objectIn(event['usage'])),
    ...money(event['total_cost_usd']),
  };
  const failed = event['is_error'] === true ? words('fails', event['result']) : [];
  return [...failed, { kind: 'used', usage }];
}

/** Narrates a turn of the Agent Client Protocol. Text comes in pieces, which are joined until something else comes. */
function acp(): Renderer {
  let text = '';
  const said = (): Event[] => {
    const all = words('says', text);
    text = '';
    return all;
  };
  /** Names of tools whose input was missing when they were called, by the ids of the calls. */
  const open = new Map<string, string>();
  const toolOf = (update: Record<string, unknown>): Event[] => {
    const id = textIn(update['toolCallId']) ?? '';
    const input = objectIn(update['rawInput']);
    const title = textIn(update['title']);
    const isKnown = Object.keys(input).some((name) => name !== 'cwd');
    const name = textIn(update['name']) ?? textIn(update['kind']) ?? title ?? 'a tool';
    if (update['sessionUpdate'] === 'tool_call') open.set(id, name);
    const called = open.get(id);
    if (called === undefined || (!isKnown && !isOver(update))) return [];
    open.delete(id);
    return [...said(), toolCall(called, isKnown ? input : title)];
  };
  const { line } = jsonRenderer((event) => {
    const update = objectIn(objectIn(event['params'])['update']);
    if (event['method'] === 'session/update')
      switch (update['sessionUpdate']) {
        case 'agent_message_chunk':
          if (!isNotice(update)) text += textIn(objectIn(update['content'])['text']) ?? '';
          return [];
        case 'tool_call':
        case 'tool_call_update':
          return toolOf(update);
        case 'usage_update':
          return costOf(update) === undefined ? [] : said();
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

const RENDERERS: Readonly<Record<string, () => Renderer>> = {
  ...{ claude, codex, gemini, opencode, pi },
  // Every warm process speaks this, whichever CLI it is.
  acp,
};

/** Returns the narrator for a known agent CLI that prints JSON. */
export function rendererOf(agent: string): Renderer | undefined {
  return Object.hasOwn(RENDERERS, agent) ? RENDERERS[agent]?.() : undefined;
}
