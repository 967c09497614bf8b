import type { Message } from '../../protocol/message.ts';
import type { AnswerPlan, Placed } from '../../protocol/reply.ts';
import { fitOf } from '../../runner/schema.ts';
import type { Briefing } from './briefing.ts';

/** A text that is not the JSON for which the questions ask, or that cannot be checked. */
export interface Unfit {
  ok: false;
  reason: 'misfit' | 'bad_schema';
  detail: string;
}

/** A text as an answer, and the mark of the messages in which it is the JSON that was asked for. */
interface Fitted {
  ok: true;
  text: string;
  mark: (answer: Placed) => Placed;
}

/** Checks a text against the JSON Schemas of the questions that it would answer. */
export async function fittedTo(
  briefing: Pick<Briefing, 'batch' | 'lookup'>,
  plans: readonly AnswerPlan[],
  text: string,
): Promise<Fitted | Unfit> {
  const schemas = schemasOf(briefing, plans);
  if (schemas.length === 0) return { ok: true, text, mark: (answer) => answer };
  const fit = await fitOf(text, schemas);
  if (fit.kind === 'fits') return { ok: true, text: `${fit.text}\n`, mark: asJson };
  const reason = fit.kind === 'misfit' ? 'misfit' : 'bad_schema';
  return { ok: false, reason, detail: fit.detail };
}

/** The JSON Schemas that what a run prints has to fit: those of the questions that it answers. */
export function schemasOf(
  { batch, lookup }: Pick<Briefing, 'batch' | 'lookup'>,
  plans: readonly AnswerPlan[],
): string[] {
  const own = new Map(batch.map(({ relPath, message }): [string, Message] => [relPath, message]));
  const schemas = plans
    .filter(({ answers, interim }) => answers && interim !== true)
    .flatMap(({ re }) => re)
    .map((ref) => (own.get(ref) ?? lookup(ref))?.schema);
  return [...new Set(schemas.filter((schema) => schema !== undefined))];
}

function asJson({ channel, message }: Placed): Placed {
  return { channel, message: message.interim === true ? message : { ...message, json: true } };
}
