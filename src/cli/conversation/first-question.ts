import type { Initialised } from '../../operations/setup/input.ts';
import { missingProgram } from '../../operations/setup/missing-program.ts';
import type { Call, CommandModule, CommandOptions } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import type { Prompts } from './prompts.ts';

/** Loads another command. */
type Load = () => Promise<CommandModule>;

const PROPOSED = 'What can you do for me here? One line.';

/**
 * Asks the new actor something, after asking the person. Where no service runs a dispatcher, one runs in this
 * process until the answer is there.
 */
export async function askFirst(
  call: Call,
  prompts: Prompts,
  { dir, actor, cli, isServed }: Initialised & { isServed: boolean },
  { ask, dispatch }: { ask: Load; dispatch: Load },
): Promise<void> {
  const { io } = call;
  if ((await missingProgram(io, cli)) !== undefined) return;
  const chosen = await prompts.choose(
    `Ask ${actor} something now?`,
    [
      { value: 'proposed', label: PROPOSED, hint: 'one model call' },
      { value: 'own', label: 'Something else' },
      { value: 'no', label: 'Not now' },
    ],
    'proposed',
  );
  const own = chosen === 'own' ? await prompts.text(`What do you ask ${actor}?`) : '';
  const question = chosen === 'proposed' ? PROPOSED : own;
  if (question === '') return;
  io.interrupts?.('clean');
  io.err('\n');
  const dispatcher = isServed ? undefined : await startDispatcher(call, dir, await dispatch());
  try {
    const { run } = await ask();
    await run(callOf(call, 'ask', { transport: dir }, [actor, question]));
  } finally {
    await dispatcher?.stop();
  }
}

/**
 * Installs the service of a new transport; its plan, which can be shown later, is not printed.
 *
 * @returns false where this machine has no service manager
 */
export async function installService(
  call: Call,
  dir: string,
  { run }: CommandModule,
): Promise<boolean> {
  let said = '';
  const io = {
    ...call.io,
    ask: undefined,
    out: (text: string) => {
      said += text;
    },
  };
  const options = { transport: dir, yes: true };
  const code = await run(callOf({ ...call, io }, 'service install', options));
  // Where there is no service manager it says how to do without.
  if (code !== EXIT.ok) call.io.err(said);
  return code === EXIT.ok;
}

/** Starts a dispatcher in this process, whose log nobody reads. */
async function startDispatcher(
  call: Call,
  dir: string,
  { run }: CommandModule,
): Promise<{ stop: () => Promise<unknown> }> {
  const ended = new AbortController();
  let started: () => void = () => undefined;
  const starts = new Promise<void>((resolve) => (started = resolve));
  const io = {
    ...call.io,
    ask: undefined,
    errIsTty: false,
    err: (line: string) => {
      if (line.includes('"dispatcher_started"')) started();
    },
    stop: ended.signal,
  };
  const done = run(callOf({ ...call, io }, 'dispatch', { transport: dir, grace: '0' }));
  // It is awaited at its end, where what went wrong meanwhile is told.
  void done.catch(() => undefined);
  await Promise.race([starts, done]);
  return {
    stop: () => {
      ended.abort();
      return done;
    },
  };
}

function callOf({ io }: Call, name: string, options: CommandOptions, args: string[] = []): Call {
  return { io, name, args, options };
}
