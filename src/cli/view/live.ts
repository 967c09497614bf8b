import { type EventName, type LogFields, type Log, levelOf } from '../../log.ts';
import { type HeldChange, changeText } from '../../protocol/approval/approval.ts';
import { refusingWords } from '../../present/findings.ts';
import { holdWords } from '../../present/holds.ts';
import { asAsciiJson } from '../../protocol/text/quoted.ts';
import type { Io } from '../command/io.ts';
import { painter } from './render.ts';

type Paint = ReturnType<typeof painter>;

/** Makes the log for a person who watches: one short line per event, without idle ticks. */
export function liveView(io: Io): Log {
  const paint = painter({ env: io.env, outIsTty: io.errIsTty });
  return (event, fields = {}) => {
    const line = lineOf(event, fields);
    if (line === undefined) return;
    const time = new Date().toISOString().slice(11, 19);
    io.err(`${paint('dim', time)} ${colour(paint, event, line)}\n`);
  };
}

function colour(paint: Paint, event: EventName, line: string): string {
  const level = levelOf(event);
  if (level === 'error') return paint('red', line);
  return level === 'warn' ? paint('yellow', line) : line;
}

/** Words an event; undefined for events that are of no interest to a person who watches. */
export function lineOf(event: string, fields: LogFields): string | undefined {
  const word = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const count = Array.isArray(fields['messages']) ? String(fields['messages'].length) : '0';
  switch (event) {
    case 'tick':
      return Number(fields['added']) > 0 ? `${word('added')} new` : undefined;
    case 'dispatcher_started':
      return `serving ${word('transport')}, process ${word('pid')}`;
    case 'host_file_loaded':
      return `host ${word('alias')} from ${word('path')}`;
    case 'host_change_held':
      return heldLine(fields);
    case 'dispatch_start':
      return `${word('actor')} runs (${word('tier')}) on ${count} message(s)`;
    case 'dispatch_done':
      return `${word('actor')} ${fields['replied'] === true ? 'replied' : 'is done'} after ${word('duration_ms')} ms`;
    case 'dispatch_failed':
      return `${word('actor')} failed: ${word('detail')}`;
    case 'dead_letter':
      return `dead letter ${word('id')}, attempt ${word('attempts')}${fields['next_retry_at'] === undefined ? '' : `, next at ${word('next_retry_at')}`}`;
    case 'quarantined':
      return `${word('id')} is quarantined; see: crosstalk dlq --show ${word('id')}`;
    case 'parked':
      return fields['cli'] === undefined
        ? `parked: ${holdWords({ reason: word('reason'), until: null, said: null })}${fields['said'] === undefined ? '' : `: ${word('said')}`}`
        : refusingWords(
            { id: word('cli'), reason: word('reason'), until: word('until'), said: word('said') },
            word('actor'),
          );
    case 'push_done':
      return Number(fields['attempts']) > 1
        ? `pushed after ${word('attempts')} attempts`
        : undefined;
    case 'dispatcher_replaced':
      return `makes room for version ${word('to')}`;
    case 'dispatcher_stopping':
      return `stops; ${runsOf(fields)} may finish within ${word('grace_s')} s, and what is ended then runs again at the next start; Ctrl-C again ends it now`;
    case 'dispatch_silent':
    case 'reply_queued':
      return undefined;
    default:
      return [
        event.replaceAll('_', ' '),
        word('problem'),
        word('path'),
        word('reason'),
        word('error'),
      ]
        .filter((part) => part !== '')
        .join(': ');
  }
}

/** Words the runs under way, as `worker (quick), 2 of concierge (default)`. */
function runsOf({ running }: LogFields): string {
  const names = (Array.isArray(running) ? running : []).map(
    (run: { actor?: unknown; tier?: unknown }) => `${String(run.actor)} (${String(run.tier)})`,
  );
  const counted = [...new Set(names)].map((name) => {
    const many = names.filter((other) => other === name).length;
    return many === 1 ? name : `${String(many)} of ${name}`;
  });
  return counted.join(', ');
}

function heldLine(fields: LogFields): string {
  const { digest, refused, changes, actor } = fields;
  // A log of version 6.0.0 contains only the commands.
  if (!Array.isArray(changes)) return `held: a change of ${asAsciiJson(String(actor))}`;
  const next =
    typeof refused === 'string' ? '' : `; accept it with: crosstalk host approve ${String(digest)}`;
  return `held: ${changeText(fields as unknown as HeldChange)}${next}`;
}
