import { listDeadLetters, retryDeadLetters } from '../../actions/upkeep/dlq.ts';
import { NOT_TRIED_YET } from '../../present/holds.ts';
import { shapes, tool, type Tool, type ToolCall, type Z } from '../kit/tool.ts';

type Letters = Awaited<ReturnType<typeof listDeadLetters>>;

/** Returns the tools that list dead letters and try them again. Deleting them is left to the operator. */
export function deadLetterTools(z: Z): Tool[] {
  const { result, marked } = shapes(z);
  const output = result({
    dead_letters: z.array(
      z.looseObject({
        id: z.string(),
        state: z.string().describe('retrying, quarantined, parked by a guard, or cancelled'),
        actor: z.string(),
        channel: z.string(),
        messages: z.array(z.string()),
        reason: z.string(),
        detail: z.string(),
        attempts: z.number(),
        stderr_tail: marked,
      }),
    ),
  });
  return [
    tool({
      name: 'dlq_list',
      title: 'List dead letters',
      description:
        'Deliveries that failed on this machine: to which actor, why, and what its program said last. Use it when an answer does not come.',
      input: z.strictObject({}),
      output,
      hints: { reads: true },
      run: (_, call) =>
        call.open(async (context) => ({
          dead_letters: shownLetters(await listDeadLetters(context), call),
        })),
    }),
    tool({
      name: 'dlq_retry',
      title: 'Try a dead letter again',
      description:
        'Let a failed delivery be tried again: the actor’s program is run once more, which costs what a run costs. Use it when the operator asks for it, or when what made it fail is fixed.',
      input: z.strictObject({
        id: z.string().min(1).describe('id from dlq_list, a unique end of it, or all'),
      }),
      output,
      hints: { idempotent: true },
      run: ({ id }, call) =>
        call.open(async (context) => {
          const { released, woken } = await retryDeadLetters(context, id);
          if (!woken && released.length > 0) call.note(NOT_TRIED_YET);
          return { dead_letters: shownLetters(released, call) };
        }),
    }),
  ];
}

function shownLetters(letters: Letters, { marks }: ToolCall): object[] {
  return letters.map((letter) => ({
    ...letter,
    stderr_tail: marks.mark(letter.stderr_tail, letter.actor, () => 'crosstalk dlq --show'),
  }));
}
