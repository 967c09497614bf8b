import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { git } from '../support/git.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** A repository with one commit, and an identity. */
function repository(name: string): string {
  const dir = join(scratch(), name);
  mkdirSync(dir);
  git(dir, 'init', '--quiet', '--initial-branch=main');
  git(dir, 'config', 'user.name', name);
  git(dir, 'config', 'user.email', `${name}@example.org`);
  git(dir, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  return realpathSync(dir);
}

const subjects = (dir: string): string[] =>
  git(dir, 'log', '--format=%s').trim().split('\n').reverse();

it('a dispatcher that a git hook starts lets a run commit where it works, and nowhere else', async () => {
  const [project, theirs] = [repository('project'), repository('theirs')];
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: {
      default: {
        cli: 'echo 1 > made; git add made; git commit --quiet --message "by the agent"; git rev-parse --show-toplevel',
        workdir: project,
      },
    },
  });
  await host.send('worker', 'commit it');
  const hook = join(theirs, '.git', 'hooks', 'pre-commit');
  writeFileSync(
    hook,
    `#!/bin/sh\nexec ${process.execPath} ${bin} dispatch --once --transport ${host.dir} --host front\n`,
  );
  chmodSync(hook, 0o755);
  await promisify(execFile)('git', ['commit', '--quiet', '--allow-empty', '--message', 'second'], {
    cwd: theirs,
    env: { ...process.env, ...host.env },
  });
  expect(bus.from('worker').map(({ message }) => message.body.trim())).toEqual([project]);
  expect(subjects(project)).toEqual(['first', 'by the agent']);
  expect(subjects(theirs)).toEqual(['first', 'second']);
  const author = git(project, 'log', '-1', '--format=%an %cn').trim();
  expect(author).toBe('project project');
});

it('what binds a process to the session of an agent CLI or to a repository is not handed on', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat > /dev/null; env' });
  const local = git(bus.root, 'rev-parse', '--local-env-vars').trim().split('\n');
  const theirs = [
    ...local,
    ...['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT', 'CLAUDE_CODE_SESSION_ID'],
    ...['CLAUDE_CODE_MESSAGING_SOCKET', 'CODEX_THREAD_ID', 'CODEX_SANDBOX', 'GEMINI_CLI'],
    ...['OPENCODE', 'OPENCODE_PID', 'QWEN_CODE', 'AI_AGENT'],
  ];
  await host.send('worker', 'what do you see?');
  // Git itself understands nothing but a number there.
  for (const name of theirs) host.env[name] = name === 'GIT_CONFIG_COUNT' ? '0' : 'of-the-operator';
  for (const name of ['ANTHROPIC_API_KEY', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_MAX_RETRIES'])
    host.env[name] = 'a-setting';
  await host.once();
  const seen = bus.from('worker')[0]?.message.body ?? '';
  expect(seen).not.toContain('of-the-operator');
  expect(seen.match(/a-setting/g)).toHaveLength(3);
});
