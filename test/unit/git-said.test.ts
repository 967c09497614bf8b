import { expect, it } from 'vitest';
import { classify, summary } from '../../src/transport/git/failure.ts';

it('of a long refusal the beginning and the end are shown, where the reason is', () => {
  const lines = Array.from({ length: 40 }, (_, n) => `remote: rule ${String(n)} was looked at`);
  const said = summary(
    [
      ...lines,
      'remote: error: the file big.bin is larger than allowed',
      ' ! [remote rejected] main',
    ].join('\n'),
  );
  expect(said.length).toBe(400);
  expect(said).toMatch(
    /^remote: rule 0 .* … .*the file big\.bin is larger than allowed · ! \[remote rejected\] main$/,
  );
});

it('what git says to do about a repository of somebody else is shown', () => {
  const said = [
    "fatal: detected dubious ownership in repository at '/srv/bus.git'",
    'To add an exception for this directory, call:',
    '',
    '\tgit config --global --add safe.directory /srv/bus.git',
    'fatal: Could not read from remote repository.',
  ];
  expect(summary(said.join('\n'))).toContain(
    ' · git config --global --add safe.directory /srv/bus.git',
  );
});

it.each([
  'ERROR: Permission to team/app.git denied to eve.\nfatal: Could not read from remote repository.',
  "remote: Permission to team/app.git denied to eve.\nfatal: unable to access 'https://x/': The requested URL returned error: 403",
  'remote: You are not allowed to push code to this project.\nfatal: unable to access',
  'fatal: Gitea: Unauthorized\nfatal: Could not read from remote repository.',
])('a forge that does not let somebody push is not one that cannot be reached: %s', (said) => {
  const [first = ''] = said.split('\n');
  expect(classify(said)).toMatchObject({
    kind: 'auth',
    reason: expect.stringContaining(first) as string,
  });
});

it('a git that does not know an option is said to be too old', () => {
  expect(classify("error: unknown option `show-scope'\nusage: git config", 129).reason).toBe(
    "this git does not know what it is asked (error: unknown option `show-scope'); Crosstalk needs git 2.34 or newer, see git --version",
  );
});

it.each([
  'remote: error: GH013: Repository rule violations found for refs/heads/main.\nremote: - Commits must have verified signatures.\n ! [remote rejected] main -> main (push declined due to repository rule violations)',
  'remote: GitLab: Commit must be signed with a GPG key\n ! [remote rejected] main -> main (pre-receive hook declined)',
  'remote: unsigned commit 1234\n ! [remote rejected] main -> main (pre-receive hook declined)',
])('a remote that wants signed commits is said to be one: %s', (said) => {
  expect(classify(said)).toMatchObject({
    kind: 'rejected',
    reason: expect.stringMatching(
      /^the remote wants signed commits, and the commits of the bus are not: allow them/,
    ) as string,
  });
});
