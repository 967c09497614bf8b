import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentReport } from '../../src/actions/setup/agents.ts';
import { plan } from '../../src/cli/completion/complete.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { scratch } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { exists } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** A machine with these programs on its PATH, besides those of the system. */
class Machine {
  readonly root = scratch();
  readonly bin = join(this.root, 'bin');
  readonly home = join(this.root, 'home');

  constructor(programs: Record<string, string>) {
    mkdirSync(this.bin);
    mkdirSync(this.home);
    for (const [name, script] of Object.entries(programs)) this.write(join(this.bin, name), script);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    const script = path.endsWith('.json') ? text : `#!/bin/sh\n${text}\n`;
    writeFileSync(path, script, { mode: 0o755 });
  }

  run(argv: readonly string[], stop?: AbortSignal): Promise<Ran> {
    const keys = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'CODEX_API_KEY'];
    const env = {
      ...Object.fromEntries(keys.map((name) => [name, ''])),
      PATH: `${this.bin}:/usr/bin:/bin`,
      HOME: this.home,
      ROOT: this.root,
    };
    return command(argv, { cwd: this.root, env, ...(stop === undefined ? {} : { stop }) });
  }

  async agents(...argv: string[]): Promise<AgentReport[]> {
    return JSON.parse((await this.run(['agents', '--json', ...argv])).out) as AgentReport[];
  }
}

describe('agents', () => {
  it('says which are there, in which version, where from, and by what they are logged in', async () => {
    const machine = new Machine({ codex: 'echo "codex-cli 0.169.0"' });
    const package_ = join(machine.root, 'lib/node_modules/@anthropic-ai/claude-code');
    machine.write(join(package_, 'bin/claude'), 'echo "must not run" >> "$ROOT/ran"');
    machine.write(
      join(package_, 'package.json'),
      '{"name":"@anthropic-ai/claude-code","version":"2.1.197"}',
    );
    symlinkSync(join(package_, 'bin/claude'), join(machine.bin, 'claude'));
    machine.write(join(machine.home, '.codex/auth.json'), '{"tokens":{}}');

    const found = await machine.agents();
    expect(found.map(({ name }) => name)).toEqual([
      'claude',
      'codex',
      'gemini',
      'opencode',
      'qwen',
      'pi',
    ]);
    expect(found.slice(0, 2)).toMatchObject([
      {
        path: join(machine.bin, 'claude'),
        version: '2.1.197',
        from: 'npm package @anthropic-ai/claude-code',
        logged_in_by: null,
        login: 'claude /login',
        run: null,
      },
      {
        path: join(machine.bin, 'codex'),
        version: '0.169.0',
        from: join(machine.bin, 'codex'),
        logged_in_by: join(machine.home, '.codex/auth.json'),
        run: null,
      },
    ]);
    expect(existsSync(join(machine.root, 'ran'))).toBe(false);

    const { out, code } = await machine.run(['agents']);
    expect(code).toBe(0);
    expect(out).toContain('logged in  not known; log in with: claude /login');
    expect(out).toContain('not tried; try with: crosstalk agents --run codex');
  });

  it('lets each answer one word when asked, and says what came of it', async () => {
    const machine = new Machine({
      claude: 'grep -q "one word" && pwd >&2 && echo Ready',
      codex:
        'echo "ERROR: You’ve hit your usage limit. Visit https://example.com or try again at Nov 24th, 2099 4:01 PM." >&2; exit 1',
      gemini: 'case $1 in --version) echo 1.0.0 ;; *) exit 41 ;; esac',
      opencode: 'case $1 in --version) echo 1.0.0 ;; *) echo "no such model" >&2; exit 2 ;; esac',
    });
    const ran = await machine.run([
      'agents',
      '--run',
      'claude',
      'codex',
      'gemini',
      'opencode',
      'pi',
    ]);
    expect(ran.code).toBe(1);
    const asking = (name: string): string =>
      `crosstalk agents: asking ${name} for one word, which may take up to 90 s\n`;
    // What is not there is not asked.
    expect(ran.err).toBe(['claude', 'codex', 'gemini', 'opencode'].map(asking).join(''));
    expect(ran.out).toMatch(/run {8}works: answered "Ready" after \d+(\.\d)? s/);
    expect(ran.out).toMatch(/rate limited until \d{4}-\S+Z: ERROR: You’ve hit your usage limit/);
    expect(ran.out).toContain('not logged in: exit code 41; log in with: gemini, then /auth');
    expect(ran.out).toContain('failed: exit code 2: no such model');
    expect(ran.out).toContain(
      'not on the PATH  npm install --global @mariozechner/pi-coding-agent',
    );
    expect((await machine.run(['agents', '--run', 'claude'])).code).toBe(0);
  });

  it('ends a run that takes too long, with all its processes', async () => {
    const machine = new Machine({
      pi: 'case $1 in --version) echo 1.0.0 ;; *) echo $$ > "$ROOT/pid"; sleep 600; echo late ;; esac',
    });
    const [pi] = await machine.agents('--run', '--timeout', '1', 'pi');
    expect(pi?.run).toEqual({ result: 'failed', said: 'did not end within 1 s' });
    const file = join(machine.root, 'pid');
    // On a busy machine it may have been ended before it wrote this.
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    if (pid > 0) await until('the end of its process', async () => !(await exists(pid)));
  });

  it('can be interrupted, and leaves no process behind', async () => {
    const machine = new Machine({
      pi: 'case $1 in --version) echo 1.0.0 ;; *) echo $$ > "$ROOT/pid"; sleep 600 ;; esac',
    });
    const stop = new AbortController();
    const running = machine.run(['agents', '--run', 'pi'], stop.signal);
    const pid = await until('its process', () => {
      const file = join(machine.root, 'pid');
      return existsSync(file) && Number(readFileSync(file, 'utf8')) > 0
        ? Number(readFileSync(file, 'utf8'))
        : undefined;
    });
    stop.abort();
    expect((await running).code).toBe(130);
    await until('the end of its process', async () => !(await exists(pid)));
  });

  it('says which names it knows', async () => {
    const machine = new Machine({});
    const unknown = await machine.run(['agents', 'clippy']);
    expect([unknown.code, unknown.err]).toEqual([
      2,
      'crosstalk agents: "clippy" is no known agent CLI; known are claude, codex, gemini, opencode, qwen, pi\n',
    ]);
    expect((await machine.run(['agents', '--timeout', 'soon'])).code).toBe(2);
    expect((await machine.run(['agents'])).err).toBe(
      'crosstalk agents: none of them is on the PATH\n',
    );
  });

  it('completes their names', () => {
    expect(plan(COMMANDS, ['agents', '--run', '']).source).toMatchObject({
      candidates: expect.arrayContaining([{ value: 'claude', description: '' }]) as unknown,
    });
  });
});
