import { expect, it } from 'vitest';
import type { WebBranchDiff, WebMessageWhole, WebThread } from '../../src/api/api.ts';
import type { Host } from '../support/bus.ts';
import { put } from '../support/by-hand.ts';
import { git } from '../support/git.ts';
import { OBEYS, Project, script } from '../support/project.ts';
import { problemsOf, readOpenApi } from '../support/schema.ts';
import { Web } from '../support/web.ts';

const BIDI = '\u202e';

/** An answer whose run has committed something. */
async function answered(project: Project, host: Host, ...lines: string[]): Promise<string> {
  await host.run('send', '--to', 'dev', '--', script(...lines, 'git add . && git commit -qm work'));
  await project.pass(host);
  return project.bus.from('dev').at(-1)?.relPath ?? '';
}

/** What the page is told of a branch, which has the documented form. */
async function diffOf(web: Web, relPath: string): Promise<WebBranchDiff> {
  const diff = await web.get<WebBranchDiff>(`/api/branch?ref=${relPath}`);
  const api = readOpenApi();
  const described =
    api.paths['/api/branch']?.['get']?.responses['200']?.content?.['application/json'];
  if (described?.schema === undefined) throw new Error('it is not described');
  expect(problemsOf(api, described.schema, diff)).toEqual([]);
  return diff;
}

async function machine(): Promise<{ project: Project; host: Host }> {
  const project = new Project();
  const dev = { default: { cli: OBEYS, worktree: project.app } };
  return { project, host: await project.host({ dev }) };
}

it(
  'the branch of an answer is told in one line wherever the answer is shown',
  { tags: 'long' },
  async () => {
    const { project, host } = await machine();
    const answer = await answered(project, host, 'echo x > new; echo y > other');
    const { re, branch } = project.bus.from('dev')[0]!.message;
    const base = git(project.app, 'rev-parse', 'main').trim();
    expect(branch?.base).toBe(base);
    const line = `${branch?.name ?? ''} from ${base.slice(0, 12)}, 2 files changed`;
    expect((await host.run('read', answer)).out).toMatch(new RegExp(`^branch +${line}$`, 'm'));
    const replies = await host.run('replies', re[0] ?? '');
    expect(replies.out).toContain(`  from dev ${answer} (branch ${line})\n  done\n`);
    expect((await host.run('thread', answer)).out).toContain(`branch ${line}  done`);
    const asked = host.run('ask', 'dev', script('touch new', 'git add .', 'git commit -qm b'));
    const running = host.start();
    expect(await asked).toMatchObject({ code: 0, out: 'done\n' });
    expect((await asked).err).toMatch(
      /^crosstalk ask: branch crosstalk\/[0-9a-f]+ from [0-9a-f]{12}, 1 file changed$/m,
    );
    await running.stop();
  },
);

it('a chat without a screen tells the branch below the text', async () => {
  const project = new Project();
  const cli = 'cat > /dev/null; touch new; git add .; git commit -qm work > /dev/null; echo done';
  const host = await project.host({ dev: { default: { cli, worktree: project.app } } });
  const running = host.start();
  const chat = await host.runWith({ stdin: 'hi\n' }, 'chat', '--to', 'dev');
  await running.stop();
  expect(chat.out).toMatch(
    /^dev: done\n {2}\n {2}branch crosstalk\/[0-9a-f]+ from [0-9a-f]{12}, 1 file changed$/m,
  );
});

it(
  'the API tells of the branch, and what it changed up to this answer, also without the copy',
  { tags: 'slow' },
  async () => {
    const { project, host } = await machine();
    const first = await answered(project, host, 'echo one > new');
    await host.run('reply', first, script('echo two > new', 'git add .', 'git commit -qm b'));
    await project.pass(host);
    const second = project.bus.from('dev').at(-1)?.relPath ?? '';
    const web = await Web.start(host);
    const whole = await web.get<WebMessageWhole>(`/api/message?ref=${first}`);
    expect(whole.branch).toEqual(project.bus.from('dev')[0]?.message.branch);
    const thread = await web.get<WebThread>(`/api/thread?ref=${first}`);
    expect(thread.roots[0]?.children[0]?.branch).toEqual(whole.branch);
    const look = async (): Promise<void> => {
      const [one, two] = [await diffOf(web, first), await diffOf(web, second)];
      expect(one).toMatchObject({ ...whole.branch, place: project.app, cut: false });
      expect(one.patch).toContain('\n+one\n');
      expect(two.patch).toContain('\n+two\n');
      expect(two.patch).not.toContain('one');
    };
    await look();
    expect((await host.run('worktree', 'prune')).out).toContain('Removed: ');
    await look();
    const wall = await Web.start(host, '--read-only');
    const refused = await wall.raw('GET', `/api/branch?ref=${first}`, wall.bearer());
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('read-only');
  },
);

it(
  'what is not fetched is shown from the copy, and a machine that has neither says so',
  { tags: 'long' },
  async () => {
    const { project, host } = await machine();
    const other = await project.bus.host('back', { idle: 'true' });
    const first = await answered(project, host, 'echo one > new');
    const branch = project.branches()[0] ?? '';
    git(project.app, 'checkout', '--quiet', branch);
    await host.run('reply', first, script('echo two > new', 'git add .', 'git commit -qm b'));
    await project.pass(host);
    const held = project.bus.from('dev').at(-1)!;
    expect(held.message.branch?.held).toContain('is checked out');
    const web = await Web.start(host);
    const shown = await diffOf(web, held.relPath);
    expect(shown.place).not.toBe(project.app);
    expect(shown.patch).toContain('\n+two\n');

    await other.run('sync');
    const there = await Web.start(other);
    const refused = await there.raw('GET', `/api/branch?ref=${first}`, there.bearer());
    expect(refused.status).toBe(404);
    expect(refused.text).toContain(
      `it was worked on front: see it there with: crosstalk worktree diff ${first}`,
    );
  },
);

it(
  'what an answer claims of its branch shows nothing but the branches of threads',
  { tags: 'long' },
  async () => {
    const { project, host } = await machine();
    const answer = await answered(project, host, 'echo one > new');
    const { branch, re } = project.bus.from('dev')[0]!.message;
    const base = branch?.base ?? '';
    git(project.app, 'checkout', '--quiet', '-b', 'mine');
    git(
      project.app,
      '-c',
      'user.name=o',
      '-c',
      'user.email=o@e',
      'commit',
      '-qm',
      's',
      '--allow-empty',
    );
    const mine = git(project.app, 'rev-parse', 'mine').trim();
    const claims = [
      { name: 'mine', commit: mine },
      { name: branch!.name, commit: mine },
      { name: 'main', commit: base },
    ].map((claim) => ({ base, changed: 1, ...claim }));
    const web = await Web.start(host);
    const statusOf = async (relPath: string): Promise<number> =>
      (await web.raw('GET', `/api/branch?ref=${relPath}`, web.bearer())).status;
    for (const claim of claims)
      expect(await statusOf(put(host, { from: 'dev', re, host: 'front', branch: claim }))).toBe(
        404,
      );
    // Another writer is not the one whose branch it is.
    const stolen = { from: 'mallory', re, host: 'front', branch: branch! };
    expect(await statusOf(put(host, stolen))).toBe(404);
    expect(await statusOf(re[0] ?? '')).toBe(404);
    expect(await statusOf(answer)).toBe(200);
  },
);

it('a hostile patch is cut, and everything in it can be seen', { tags: 'long' }, async () => {
  const { project, host } = await machine();
  const odd = await answered(
    project,
    host,
    `printf 'if (x) { ${BIDI}evil\\033[2J\\000<script>alert(1)</script>\\tend\\r\\n' | tr -d '\\000' > a`,
    `printf 'y\\n' > "$(printf 'two\\nlines ${BIDI}name')"`,
  );
  const lines = await answered(project, host, 'seq 1000000 > million');
  const long = await answered(
    project,
    host,
    'yes 0123456789 | tr -d "\\n" | head -c 50000000 > long; yes | head -c 9000000 > b; rm long',
    'yes 0123456789 | tr -d "\\n" | head -c 12000000 > c',
  );
  const web = await Web.start(host);
  const patch = await diffOf(web, odd);
  expect(patch.cut).toBe(false);
  expect(patch.patch).toContain(
    '+if (x) { \\u202eevil\\u001b[2J<script>alert(1)</script>\tend\\u000d\n',
  );
  expect(patch.patch).toContain('two\\nlines \\u202ename');
  for (const relPath of [lines, long]) {
    const { patch: some, cut } = await diffOf(web, relPath);
    expect(cut).toBe(true);
    expect(some.length).toBeLessThanOrEqual(256 * 1024);
    expect(some.split('\n').length).toBeLessThanOrEqual(4000);
  }
});

it('a patch of more lines than are shown says that it is cut', async () => {
  const { project, host } = await machine();
  const relPath = await answered(project, host, 'seq 5000 > many');
  const { patch, cut } = await diffOf(await Web.start(host), relPath);
  expect([patch.split('\n').length, cut]).toEqual([4000, true]);
});
