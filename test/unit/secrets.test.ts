import { lintSource } from '@secretlint/core';
import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { describe, expect, it } from 'vitest';
import type { Commit } from '../../src/protocol/outgoing.ts';
import { saidSecrets } from '../../src/protocol/text/secrets.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { rules } from '../../src/secrets/rule-packages.ts';
import { scan, Screen, type ScreenParts } from '../../src/secrets/screen.ts';
import { isSuspicious } from '../../src/secrets/suspicious.ts';
import { templateFiles } from '../../src/actions/setup/starter-files.ts';
import { drawn, SECRETS } from '../support/secrets.ts';

const kinds = Object.entries(SECRETS);

function screenOf(parts: Partial<ScreenParts> = {}): Screen {
  return new Screen({
    bytesOf: () => Promise.resolve(undefined),
    mode: () => Promise.resolve('on'),
    ...parts,
  });
}

const PATH = messageFile(
  '0f5e8f4e-1c3a-4c6e-9a53-2f4b8d3e9a10',
  '2026/06/09/101112131Z-1f2e3d4c.md',
);
const HEADER =
  '---\nfrom: anna\nto: worker\ntype: text\ntimestamp: 2026-06-09T10:11:12.131Z\n---\n';

function commitOf(...contents: string[]): Commit {
  return {
    author: { name: 'anna', email: 'anna@laptop.crosstalk.local' },
    at: '2026-06-09T10:11:12.131Z',
    subject: 'crosstalk: message from anna',
    files: contents.map((content) => ({ path: PATH, content })),
  };
}

describe('what the rules find', () => {
  it.each(kinds)('a %s is found, wherever it stands in a text', async (_, make) => {
    for (const seed of [1, 2, 3]) {
      const secret = make(seed);
      for (const text of [secret, `see\n\n${secret}\n`, `the key is "${secret}", keep it`])
        expect(await scan(text), text.slice(0, 12)).not.toEqual([]);
    }
  });

  it.each([
    'postgres://postgres:postgres@localhost:5432/app',
    'postgresql://app:<password>@db.example.org/app',
    'mysql://user:your-password@localhost/app',
    'mongodb://admin:${PASSWORD}@mongo/app',
    'https://me:token@example.org/repo.git',
    `GITHUB_TOKEN=ghp_${'x'.repeat(36)}`,
    `SLACK_BOT_TOKEN=xoxb-your-bot-token`,
    `SLACK_BOT_TOKEN=xoxb-${'0'.repeat(12)}-${'x'.repeat(24)}`,
    `ANTHROPIC_API_KEY=sk-ant-api03-${'x'.repeat(93)}AA`.replace('AA', 'xx'),
    `AWS_SECRET_ACCESS_KEY=${'*'.repeat(40)}`,
    `//registry.example.org/:_authToken=your_token_here`,
  ])('is no secret of an example: %s', async (text) => {
    expect(await scan(`Set it as in\n${text}\nand start.\n`)).toEqual([]);
  });

  it.each([
    'postgres://postgres:Tr0ub4dor@db.example.org/app',
    `postgres://app:${drawn(20, 3)}@localhost/app`,
    `GITHUB_TOKEN=ghp_${drawn(36, 5)}`,
    // The name is the secret.
    `https://${drawn(32, 7)}:token@api.example.org/`,
    `https://${drawn(24, 8)}:${drawn(24, 8)}@api.example.org/`,
    `https://${drawn(24, 9)}:changeme@api.example.org/`,
    'postgres://app:$ecr3tWord@db.example.org/app',
    'postgres://app:%7Tr0ub4dor@db.example.org/app',
    'postgres://app:<Tr0ub4dor3>@db.example.org/app',
  ])('is what is no example, though it stands where one could: %s', async (text) => {
    expect(await scan(`Set it as in\n${text}\nand start.\n`)).toHaveLength(1);
  });

  it('is what secretlint itself finds with the rules that are used here', async () => {
    const used = rules.filter(({ meta }) => !/-rule-(?:filter-comments|gcp)$/.test(meta.id));
    const config = { rules: used.map((rule) => ({ id: rule.meta.id, rule })) };
    for (const [, make] of kinds) {
      const content = `first\n${make(7)}\nlast\n`;
      const lint = async (filePath: string): Promise<number[]> => {
        const source = { content, filePath, ext: '', contentType: 'text' as const };
        const linted = await lintSource({ source, options: { config, noPhysicFilePath: true } });
        return linted.messages.map(({ range }) => range[0]);
      };
      const theirs = new Set([...(await lint('.npmrc')), ...(await lint('package.json'))]);
      const ours = new Set((await scan(content)).map(({ index }) => index));
      expect([...ours].sort()).toEqual([...theirs].sort());
    }
  });

  it('covers all rules that secretlint recommends, so that a new one is not forgotten', () => {
    expect(rules.map(({ meta }) => meta.id.replace(/^.*-rule-/, '')).sort()).toEqual([
      ...['1password', 'anthropic', 'aws', 'basicauth', 'database-connection-string', 'databricks'],
      ...['docker', 'figma', 'filter-comments', 'gcp', 'github', 'gitlab', 'grafana', 'groq'],
      ...['hashicorp-vault', 'huggingface', 'linear', 'notion', 'npm', 'openai', 'privatekey'],
      ...['sendgrid', 'shopify', 'slack', 'vercel'],
    ]);
  });

  it(
    'nothing that a rule finds passes the first look, in whatever it is embedded',
    { tags: 'long' },
    async () => {
      const piece = fc.oneof(
        anyText({ maxLength: 20 }),
        fc.constantFrom(
          '_',
          '-',
          '.',
          '/',
          ':',
          '@',
          '"',
          '\n',
          ' ',
          '=',
          'http://',
          'é',
          'ſ',
          'K',
        ),
      );
      const secret = fc
        .tuple(fc.constantFrom(...kinds), fc.nat(1000))
        .map(([[, make], seed]) => make(seed));
      // Cut or changed, a secret may still be one for a rule.
      const cut = fc
        .tuple(secret, fc.nat(200), fc.nat(6), piece)
        .map(([text, at, gone, put]) => `${text.slice(0, at)}${put}${text.slice(at + gone)}`);
      const upper = secret.map((text) => text.replace(/^\w+/, (word) => word.toUpperCase()));
      const text = fc
        .array(fc.oneof(piece, secret, cut, upper), { minLength: 1, maxLength: 6 })
        .map((parts) => parts.join(''));
      await fc.assert(
        fc.asyncProperty(text, async (one) => {
          if (!isSuspicious(one)) expect(await scan(one)).toEqual([]);
        }),
        { numRuns: 2000 },
      );
    },
  );

  it('a comment in the text does not switch the rules off', async () => {
    const [secret = ''] = kinds.map(([, make]) => make(4));
    expect(await scan(`secretlint-disable\n${secret}\n`)).not.toEqual([]);
    expect(await scan(`${secret} secretlint-disable-line`)).not.toEqual([]);
  });

  it('a secret at any place of a large text is found, and where it begins is known', async () => {
    const secret = SECRETS['RSA private key']?.(3) ?? '';
    for (const before of [0, (1 << 19) - 100, 1 << 19, (1 << 19) + (1 << 14) - 50, 3_000_000]) {
      const text = `${'ordinary words\n'.repeat(Math.ceil(before / 15))}${secret}\n${'x '.repeat(90_000)}`;
      expect((await scan(text)).map(({ index }) => index)).toEqual([text.indexOf('-----BEGIN')]);
    }
  });

  it('costs what the size of a text is, whatever is in it', { tags: 'long' }, async () => {
    const { performance } = globalThis;
    const worst = [
      ...[
        'http://',
        'https://a:b@c.',
        'mongodb://a:',
        'xoxb-',
        'xoxb-a-',
        'hvb.',
        'ops_ey',
        'SG.a.',
      ],
      ...[
        'figd_',
        'sk-ant-api03-',
        'glpat-',
        '-----BEGIN PRIVATE KEY-----\n',
        'AWS_SECRET_ACCESS_KEY',
      ],
      ...[
        '_authToken=',
        'https://hooks.slack.com/services/T',
        'postgres://',
        'sk-proj-',
        'npm_',
        'a',
        ' ',
      ],
      ...['dckr_pat_', 'secret_access_key  ', 'ftp://aaa:', 'shpat_', 'glc_', '{{', '\\n', '-'],
    ];
    for (const part of worst) {
      const text = `${part.repeat(Math.ceil((1 << 20) / part.length))}T3BlbkFJ`;
      const from = performance.now();
      await scan(text);
      expect(performance.now() - from, part).toBeLessThan(4000);
    }
    const words = `SG.a.${'w'.repeat(300)}`.repeat(3500);
    const from = performance.now();
    await scan(words);
    expect(performance.now() - from).toBeLessThan(4000);
  });
});

describe('false alarms', () => {
  it('of 1,000 ordinary messages at most two are held', async () => {
    const screen = screenOf();
    const alarms: string[] = [];
    for (let n = 0; n < 1000; n++) {
      const found = await screen.look({ commits: [commitOf(`${HEADER}${ordinary(n)}`)] });
      if (found.length > 0) alarms.push(saidSecrets(found));
    }
    process.stderr.write(`false alarms in 1,000 ordinary messages: ${String(alarms.length)}\n`);
    expect(alarms.length, alarms.join('\n')).toBeLessThanOrEqual(2);
  }, 60_000);

  it('the files of a new transport hold nothing that looks like a secret', async () => {
    for (const { path, content } of await templateFiles())
      expect(await scan(content), path).toEqual([]);
  });
});

describe('where a secret is', () => {
  const secret = SECRETS['GitHub token']?.(1) ?? '';

  it('is said by the line of a body, and nothing of it is shown', async () => {
    const content = `${HEADER}one\ntwo\nthree ${secret}\n`;
    const found = await screenOf().look({ commits: [commitOf(content)] });
    expect(found).toEqual([{ kind: 'a GitHub token', where: 'the message', line: 3 }]);
    expect(saidSecrets(found)).toBe('a GitHub token in line 3 of the message');
    const inHeader = await screenOf().look({
      commits: [commitOf(`---\noptions: ["${secret}"]\n${HEADER.slice(4)}text\n`)],
    });
    expect(saidSecrets(inHeader)).toBe('a GitHub token in the header or name of the message');
  });

  it('is said by the name of an attached file, unless that looks like a secret itself', async () => {
    const bytes = Buffer.from(`a\nb\n${secret}\n`);
    const sha256 = 'a'.repeat(64);
    const blob = { path: `data/files/aa/${sha256}`, sha256, bytes: bytes.length, kept: 'X' };
    const named = (name: string): Commit => ({
      ...commitOf(
        `---\nfiles: [{sha256: ${sha256}, name: "${name}", bytes: ${String(bytes.length)}, type: text/plain}]\n${HEADER.slice(4)}text\n`,
      ),
      blobs: [blob],
    });
    const screen = screenOf({ bytesOf: () => Promise.resolve(bytes) });
    expect(await screen.look({ commits: [named('notes.txt')] })).toEqual([
      { kind: 'a GitHub token', where: '"notes.txt"', line: 3 },
    ]);
    const both = await screen.look({ commits: [named(`${secret}.txt`)] });
    expect(both.map(({ where }) => where)).toEqual(['the message', 'attached file 1']);
    expect(JSON.stringify(both)).not.toContain(secret);
  });

  it('is found in the path of a file, in its commit, and in files of any encoding', async () => {
    const commit = commitOf(`${HEADER}text\n`);
    const subject = await screenOf().look({ commits: [{ ...commit, subject: secret }] });
    expect(subject).toHaveLength(1);
    const path = `local/actors/${secret}.md`;
    const inPath = await screenOf().look({
      commits: [{ ...commit, files: [{ path, content: `name: ${secret}` }] }],
    });
    expect(inPath).toHaveLength(2);
    expect(JSON.stringify([subject, inPath])).not.toContain(secret);
    const text = `x\n${secret}\n`;
    const be = Buffer.from(`\ufeff${text}`, 'utf16le').swap16();
    for (const bytes of [
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      be,
      Buffer.from(`\0\xff${text}`, 'latin1'),
    ]) {
      const blob = {
        path: 'data/files/aa/a',
        sha256: drawn(64, bytes.length),
        bytes: 1,
        kept: 'X',
      };
      const screen = screenOf({ bytesOf: () => Promise.resolve(bytes) });
      expect(await screen.look({ commits: [{ ...commit, blobs: [blob] }] })).toHaveLength(1);
    }
  });

  it(
    'is found in any bytes in which the rules find it, whether they are text or not',
    { tags: 'long' },
    async () => {
      const noise = fc.oneof(
        fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom(0xa0, 0x85, 0xc2, 0xe3, 0xf0, 0x00).map((byte) => Buffer.from([byte])),
        fc.constantFrom('postgres://', ' ', '@', '\u3000').map((one) => Buffer.from(one)),
      );
      const hidden = fc
        .tuple(fc.constantFrom(...kinds), fc.nat(1000), fc.nat(60), noise)
        .map(([[, make], seed, at, put]) => {
          const whole = Buffer.from(make(seed));
          return Buffer.concat([whole.subarray(0, at), put, whole.subarray(at)]);
        });
      const file = fc
        .array(fc.oneof(noise, hidden), { minLength: 1, maxLength: 6 })
        .map((parts) => Buffer.concat(parts))
        // What begins like UTF-16 is read as such.
        .filter((bytes) => bytes[0] !== 0xff && bytes[0] !== 0xfe);
      const commit = commitOf(`${HEADER}text\n`);
      await fc.assert(
        fc.asyncProperty(file, async (bytes) => {
          const sha256 = 'b'.repeat(64);
          const blob = { path: 'data/files/bb/b', sha256, bytes: bytes.length, kept: 'X' };
          const screen = screenOf({ bytesOf: () => Promise.resolve(bytes) });
          const found = await screen.look({ commits: [{ ...commit, blobs: [blob] }] });
          expect(found).toHaveLength((await scan(new TextDecoder('utf-8').decode(bytes))).length);
        }),
        { numRuns: 2000 },
      );
    },
  );

  it('is not asked where a person lets it go, or where the scan is off', async () => {
    const commits = [commitOf(`${HEADER}${secret}\n`)];
    expect(await screenOf().look({ commits, allowed: true })).toEqual([]);
    expect(await screenOf({ mode: () => Promise.resolve('off') }).look({ commits })).toEqual([]);
  });

  it('is looked for once in each attached file, and named as each message names it', async () => {
    let reads = 0;
    const screen = screenOf({
      bytesOf: () => {
        reads++;
        return Promise.resolve(Buffer.from(`a\n${secret}\n`));
      },
    });
    const sha256 = 'c'.repeat(64);
    const blob = { path: 'data/files/cc/c', sha256, bytes: 9, kept: 'X' };
    const named = (name: string): Commit => ({
      ...commitOf(
        `---\nfiles: [{sha256: ${sha256}, name: "${name}", bytes: 9, type: text/plain}]\n${HEADER.slice(4)}text\n`,
      ),
      blobs: [blob],
    });
    for (const name of ['one.txt', 'two.txt'])
      expect(await screen.look({ commits: [named(name)] })).toEqual([
        { kind: 'a GitHub token', where: `"${name}"`, line: 2 },
      ]);
    expect(reads).toBe(1);
  });

  it('is looked for once for each content, and anew for another under the same id', async () => {
    let scans = 0;
    const screen = screenOf({
      scan: (text) => {
        scans++;
        return scan(text);
      },
    });
    const suspect = (more: string): Commit[] => [
      commitOf(`${HEADER}npm_${drawn(36, 1)}x ${more}\n`),
    ];
    for (const more of ['a', 'a', 'b']) await screen.look({ commits: suspect(more) });
    expect(scans).toBe(2);
    expect(await screen.look({ commits: suspect(secret) })).not.toEqual([]);
  });
});

/** A message as people and models write it: prose, code, a difference, ids, or a picture. */
function ordinary(n: number): string {
  const hex = (length: number): string => drawn(length, n, '0123456789abcdef');
  const uuid = `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  const words = drawn(60, n, 'abcdefghijklm').replace(/.{6}/g, '$& ');
  const shapes = [
    `Please look at ${words}and tell me whether the token expires; my password manager says so.\n`,
    `\`\`\`ts\nconst secretAccessKey = process.env['AWS_SECRET_ACCESS_KEY'] ?? '';\nfetch(\`https://\${user}:\${password}@example.org/${hex(8)}\`);\n\`\`\`\n`,
    `diff --git a/src/${hex(6)}.ts b/src/${hex(6)}.ts\nindex ${hex(7)}..${hex(9)} 100644\n@@ -1,4 +1,4 @@\n-  "integrity": "sha512-${Buffer.from(drawn(64, n)).toString('base64')}",\n+export const key = '${words}';\n`,
    `see ${uuid} and 2026/06/09/101112131Z-${hex(8)}.md, commit ${hex(40)}, sha256 ${hex(64)}\n`,
    `![picture](data:image/png;base64,${Buffer.from(drawn(4000, n)).toString('base64')})\n`,
    `postgres://user:password@localhost/app, mysql://root@localhost and redis://cache:6379 work; set NPM_TOKEN, GITHUB_TOKEN=ghp_xxx and OPENAI_API_KEY=sk-...\n`,
    `-----BEGIN PUBLIC KEY-----\n${Buffer.from(drawn(300, n)).toString('base64')}\n-----END PUBLIC KEY-----\nA private key begins with -----BEGIN RSA PRIVATE KEY----- and is never sent.\n`,
    `The run took ${hex(2)} s: npm install, hf_hub_download, gsk_scene_new, xapp-ready, sk-learn and vca_total stayed the same. http://localhost:8080/a:b@c\n`,
    `| id | oid |\n| --- | --- |\n${Array.from({ length: 20 }, (_, row) => `| ${String(row)} | ${drawn(40, n + row, '0123456789abcdef')} |`).join('\n')}\n`,
    `const hash = "${Buffer.from(drawn(45, n)).toString('base64url')}"; // ${words}\n`,
  ];
  return shapes[n % shapes.length] ?? '';
}
