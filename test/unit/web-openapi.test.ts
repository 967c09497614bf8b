import { RIGHTS } from '../../src/actions/page/web-tokens.ts';
import { expect, it } from 'vitest';
import type { Context } from '../../src/actions/context.ts';
import { makeApp } from '../../src/web/serve.ts';
import { makeParts } from '../../src/web/parts.ts';
import * as packages from '../../src/web/web-packages.ts';
import { problemsOf, readOpenApi } from '../support/schema.ts';

it('docs/openapi.json describes every route that there is, and no other', () => {
  const context = {} as Context;
  const { signal: stop } = new AbortController();
  const given = {
    context,
    token: 'x',
    login: 'anna',
    mayWatch: true,
    mayOperate: true,
    mayDecide: true,
    readOnly: false,
    epoch: '00000000',
    stop,
  };
  const door = { host: '127.0.0.1', bound: '127.0.0.1', port: 1, hostname: 'here' };
  const app = makeApp(packages, makeParts(given), {
    token: 'x',
    door: () => door,
    rights: new Set(RIGHTS),
    tokenOf: () => Promise.resolve(undefined),
  });
  const routes = app.routes
    .filter(({ method, path }) => method !== 'ALL' && path !== '*' && path !== '/*')
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  const api = readOpenApi();
  const described = Object.entries(api.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(12);
  expect([...new Set(routes)].sort()).toEqual(described.sort());
});

it('what docs/openapi.json refers to is in it', () => {
  const text = JSON.stringify(readOpenApi());
  const api = JSON.parse(text) as Record<string, unknown>;
  for (const [, ref = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = ref
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], api);
    expect([ref, target]).not.toEqual([ref, undefined]);
  }
});

it('the check of answers finds what is missing, wrong or not described', () => {
  const api = readOpenApi();
  const right = { hosts: [] };
  const host = { alias: 'a', this_machine: 'yes', heartbeat_age_s: null, more: 1 };
  expect(problemsOf(api, { $ref: '#/Hosts' }, right)).toEqual([]);
  expect(problemsOf(api, { $ref: '#/Hosts' }, { hosts: [host] })).toEqual([
    '$.hosts[0].last_wrote is missing',
    '$.hosts[0].actors is missing',
    '$.hosts[0].problem is missing',
    '$.hosts[0].this_machine: string, not boolean',
    '$.hosts[0].more is not described',
  ]);
});
