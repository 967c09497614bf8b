import { expect, it } from 'vitest';
import { FaultyMachine } from './faulty-machine.ts';
import { DAILY } from './git-scenarios.ts';
import { SETUPS } from './git-setups.ts';
import { KINDS, type Which } from './git-shim.ts';
import { sample } from '../support/form.ts';

/** Only one fault of a scenario in this many is tried; 1 for all of them. */
const STRIDE = Number(process.env['CHAOS_GIT_STRIDE'] ?? '97');
const SIGNS = process.env['CHAOS_GIT_SIGNS']?.split('') ?? ['=', '+'];
const ONLY = new RegExp(process.env['CHAOS_GIT_ONLY'] ?? '');

it.each(
  sample([...DAILY, ...SETUPS].map((scenario, at) => [scenario.name, scenario, at] as const)),
)(
  'whatever becomes of a git call of %s, nothing is lost, nothing is twice and no lie is told',
  { tags: 'sampled' },
  async (name, scenario, at) => {
    if (!ONLY.test(name)) return;
    const machine = await new FaultyMachine().open();
    const given = await scenario.prepare(machine);
    await machine.keep();
    // A restored configuration is read again, so the same holds for all runs that follow.
    machine.restore();
    const well = await machine.under(undefined, () => scenario.run(machine, given));
    const calls = machine.calls;
    const mayTakeHours = (index: number, sign: string): boolean =>
      calls
        .slice(index, sign === '=' ? index + 1 : undefined)
        .some((call) => scenario.patient?.test(call) === true);
    expect([well.code, await scenario.check(machine, well, given)]).toEqual([
      scenario.code ?? 0,
      [],
    ]);

    const faults = calls.flatMap((call, index) =>
      SIGNS.flatMap((sign) =>
        KINDS.filter((kind) => kind !== 'hung' || !mayTakeHours(index, sign)).map((kind) => ({
          which: `${sign}${String(index + 1)}` as Which,
          kind,
          call,
        })),
      ),
    );
    const found: string[] = [];
    let tried = 0;
    for (const [index, { which, kind, call }] of faults.entries()) {
      if ((index + at) % STRIDE !== 0) continue;
      machine.restore();
      const ran = await machine.under({ which, kind }, () => scenario.run(machine, given));
      tried++;
      const problems = [...machine.lies(ran), ...(await scenario.check(machine, ran, given))];
      for (const problem of problems)
        found.push(
          `${kind} ${which} (${call}): ${problem}; it said ${ran.out}${ran.err}`.slice(0, 1500),
        );
      if (STRIDE === 1)
        process.stdout.write(
          `${kind} ${which} (${call.slice(0, 60)}): ${String(ran.code)} ${problems.map((problem) => problem.slice(0, 200)).join(' | ')} ${problems.length > 0 ? ran.err.slice(0, 300) : ''}\n`,
        );
    }
    process.stdout.write(`${name}: ${String(calls.length)} calls, ${String(tried)} faults tried\n`);
    expect(found).toEqual([]);
  },
);
