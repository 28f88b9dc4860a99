import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, RunTokens, SCOPES } from '../../../src/server/index.ts';
import { studioFor } from '../../../src/server/studio-elsewhere.ts';
import { listen } from '../../../src/server/node-server.ts';
import { axeProblems, CHROMIUM, shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

const TOKEN_SECRET = 's'.repeat(32);

/** The text of a run's user, which others must not read. */
const SECRET = 'the lamp of Ada';

/** Callers by their keys. */
const callers: Record<string, Caller> = {};

describe.skipIf(SKIPPED !== '')(`who may do what in Studio${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  const expired = new Set<string>();
  beforeAll(async () => {
    studio = await StudioTestbed.open({
      tokenSecrets: [TOKEN_SECRET],
      authenticate: (request) => {
        const key = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
        return expired.has(key) ? undefined : callers[key];
      },
    });
    const principal = { tenant: studio.tenant };
    callers['reader'] = { id: 'reader', scopes: ['runs:read'], principal };
    callers['writer'] = { id: 'writer', scopes: ['runs:read', 'runs:write'], principal };
    callers['decider'] = { id: 'decider', scopes: ['runs:read', 'approvals:decide'], principal };
    callers['other'] = { id: 'other', scopes: ['admin'], principal: { tenant: `other-${randomUUID()}` } };
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  async function opened(key: string, place: string): Promise<Awaited<ReturnType<StudioTestbed['page']>>> {
    const page = await studio.page(place);
    await shows(page, 'This service asks who you are');
    await page.getByLabel('API key or token').fill(key);
    await page.keyboard.press('Enter');
    return page;
  }

  test('a wrong key is refused, and a right one is in no address and in no storage', async () => {
    const page = await opened('wrong', '#/runs');
    await shows(page, 'The service has refused these credentials');
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeProblems(page)).toEqual([]);
    }
    await page.getByLabel('API key or token').fill('reader');
    await page.keyboard.press('Enter');
    await shows(page, 'reader ·');
    expect(page.url()).not.toContain('reader');
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])')).toBe('[{},{},""]');
    expect(studio.requests.some(({ path }) => path.includes('reader'))).toBe(false);
    await page.reload();
    await shows(page, 'This service asks who you are');
    await page.getByLabel('API key or token').fill('reader');
    await page.getByLabel('Keep it until this tab is closed').check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await shows(page, 'reader ·');
    await page.reload();
    await shows(page, 'reader ·');
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await shows(page, 'This service asks who you are');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  test('once the key is forgotten, the page has no data of its reader, and follows nothing', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const page = await opened('decider', '#/inbox');
    await shows(page, '1 decision waiting');
    expect(await page.locator('.badge').innerText()).toBe('1');
    const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/feed'));
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await closed;
    await shows(page, 'This service asks who you are');
    expect(await page.locator('.badge').count()).toBe(0);
    expect(await page.locator('header').innerText()).not.toContain('decider');
    expect(await page.title()).toBe('Longhaul Studio');
    await run.cancel('seen');
  });

  test('requests in flight for one reader end when another one gives a key, and show nothing of the first', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    callers['late'] = { id: 'late', scopes: ['runs:read', 'approvals:decide'], principal: { tenant: studio.tenant } };
    const page = await opened('late', '#/inbox');
    await shows(page, '1 decision waiting');
    const held = Promise.withResolvers<void>();
    await page.route('**/v1/runs/*/approvals/*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await shows(page, 'This service asks who you are');
    await page.getByLabel('API key or token').fill('other');
    await page.keyboard.press('Enter');
    await shows(page, 'Nothing waits');
    // The key of the first reader is refused by now.
    expired.add('late');
    const refused = page.waitForResponse((response) => response.status() === 401);
    held.resolve();
    await (await refused).finished();
    await page.getByRole('link', { name: 'Agents' }).click();
    await shows(page, 'Passes people on');
    await page.getByRole('link', { name: 'Inbox' }).click();
    await shows(page, 'Nothing waits');
    expect(await page.locator('header').innerText()).toMatch(/other ·/);
    expect([await page.locator('.badge').count(), await page.getByText('not taken').count()]).toEqual([0, 0]);
    expect((await run.approvals()).pending).toHaveLength(1);
    await run.cancel('seen');
  });

  test('a page that came without encryption from another machine works, and says what it cannot do', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const launched = await chromium.launch({
      executablePath: CHROMIUM ?? '',
      args: ['--no-sandbox', '--host-resolver-rules=MAP studio.example 127.0.0.1'],
    });
    try {
      const page = await launched.newPage();
      const url = studio.url.replace('127.0.0.1', 'studio.example');
      await page.goto(`${url}#/runs/${encodeURIComponent(run.runId)}`);
      await page.getByLabel('API key or token').fill('writer');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID]')).toEqual([false, 'undefined']);
      await page.getByLabel('Message').fill('Please hurry');
      await page.getByRole('button', { name: 'Send' }).click();
      await shows(page, 'Accepted');
      await page.goto(`${url}#/runs/${encodeURIComponent(run.runId)}/steps/1/request`);
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      await shows(page, 'Browsers copy from pages that were loaded by https');
    } finally {
      await launched.close();
    }
    await run.cancel('seen');
  });

  test('controls are shown only to readers who may use them', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const place = `#/runs/${encodeURIComponent(run.runId)}`;
    const controls = { reader: [false, false], writer: [true, false], decider: [false, true] };
    for (const [key, expected] of Object.entries(controls)) {
      const page = await opened(key, place);
      await shows(page, 'Step 3');
      const has = async (name: string): Promise<boolean> => (await page.getByRole('button', { name, exact: true }).count()) > 0;
      // The page asks for the approvals of a run apart from its steps.
      await expect.poll(async () => [await has('Send'), await has('Approve')], { timeout: 20_000, message: key }).toEqual(expected);
    }
    const stranger = await opened('other', place);
    await shows(stranger, 'run_not_found');
    await stranger.goto(`${studio.url}#/inbox`);
    await shows(stranger, 'Nothing waits');
    await run.cancel('seen');
  });

  test('every scope, principal and run token sees exactly what it may see in every place of the page', async () => {
    const run = await studio.client.start('clerk', { input: `My lamp arrived broken. ${SECRET}` });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const id = encodeURIComponent(run.runId);
    const tokens = new RunTokens({ secrets: [TOKEN_SECRET] });
    const own = { id: 'maker', scopes: SCOPES, principal: { tenant: studio.tenant } };
    const tokenFor = async (runId: string): Promise<string> =>
      (await tokens.make(own, { runId, scopes: ['runs:read', 'approvals:decide'] })).token;
    callers['ofUser'] = { id: 'ofUser', scopes: ['admin'], principal: { tenant: studio.tenant, user: 'somebody-else' } };
    callers['nothing'] = { id: 'nothing', scopes: [], principal: { tenant: studio.tenant } };
    const keys = {
      reader: 'reader',
      writer: 'writer',
      decider: 'decider',
      'another tenant': 'other',
      'another user': 'ofUser',
      'no scope': 'nothing',
      'the token of the run': await tokenFor(run.runId),
      'the token of another run': await tokenFor('another-run'),
    };
    // What each place shows once it has loaded, or its refusal.
    const places: Record<string, RegExp> = {
      runs: /\d+ runs?|No run|Step 3/,
      [`runs/${id}`]: /Step 3/,
      [`runs/${id}/steps/1/request`]: /As sent/,
      inbox: /waiting|Nothing waits/,
      'playground/clerk': /Say something|do not allow/,
      agents: /Passes people on/,
      'agents/clerk': /Instructions/,
      'programs/letter': /RequiresCitation/,
    };
    const read = { run: 'reads', 'run/request': 'reads', inbox: 'reads' };
    const expected: Record<string, Record<string, string>> = {
      reader: read,
      writer: { ...read, run: 'reads, writes', playground: 'writes' },
      decider: { ...read, run: 'reads, decides', inbox: 'reads, decides' },
      'another tenant': { runs: 'writes', playground: 'writes' },
      'another user': { runs: 'writes', playground: 'writes' },
      'no scope': {},
      // A token for one run opens that run, also at the place of the list.
      'the token of the run': { runs: 'reads, decides', run: 'reads, decides', 'run/request': 'reads' },
      'the token of another run': {},
    };
    expect(Object.keys(expected)).toEqual(Object.keys(keys));
    const before = studio.requests.length;
    for (const [who, key] of Object.entries(keys)) {
      const page = await opened(key, '#/agents');
      const main = page.locator('main');
      for (const [place, shown] of Object.entries(places)) {
        await page.goto(`${studio.url}#/${place}`);
        const hasCome = new RegExp(`Problem: |opens only one run|${shown.source}`);
        await expect.poll(() => main.innerText(), { timeout: 20_000, message: `${who} at ${place}` }).toMatch(hasCome);
        const name = place.includes('/steps/') ? 'run/request' : place === `runs/${id}` ? 'run' : (place.split('/')[0] ?? '');
        const seen = async (): Promise<string> => {
          const has = (button: string): Promise<boolean> => page.getByRole('button', { name: button, exact: true }).isVisible();
          const text = await main.innerText();
          const writes = (await has('Send')) || (await has('Pause'));
          return [text.includes(SECRET) && 'reads', writes && 'writes', (await has('Approve')) && 'decides'].filter(Boolean).join(', ');
        };
        await expect.poll(seen, { timeout: 20_000, message: `${who} at ${place}` }).toBe(expected[who]?.[name] ?? '');
      }
      await page.context().close();
    }
    // What the page asked for is refused by the service to each of them: the matrix of access has every route.
    const asked = new Set(studio.requests.slice(before).flatMap(({ path, method }) => (path.startsWith('/v1/') ? [method] : [])));
    expect([...asked].toSorted()).toEqual(['GET']);
    await run.cancel('seen');
  }, 240_000);

  test('a token for one run opens that run alone: its reader decides what waits there, and sees how it ends', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const maker = { id: 'maker', scopes: SCOPES, principal: { tenant: studio.tenant } };
    const request = { runId: run.runId, scopes: ['runs:read', 'approvals:decide'] as const };
    const { token } = await new RunTokens({ secrets: [TOKEN_SECRET] }).make(maker, request);
    const before = studio.requests.length;
    const page = await opened(token, '');
    await shows(page, 'within 30 days');
    expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()).toEqual(['Runs']);
    // The child is another run, which the token does not open.
    expect(await page.locator('aside .branch').innerText()).toContain('order_reader');
    expect(await page.locator('aside .branch a').count()).toBe(0);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await shows(page, 'within three days. We are sorry');
    await shows(page, /Ended\s+completed/);
    const decided = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decided.push([decision.type, decision.by]);
    expect(decided).toEqual([['approve', 'maker']]);
    await page.goto(`${studio.url}#/inbox`);
    await shows(page, 'opens only one run');
    const asked = studio.requests.slice(before).filter(({ path }) => path.startsWith('/v1/') && !path.startsWith('/v1/runs/'));
    expect([...new Set(asked.map(({ path }) => path))].toSorted()).toEqual(['/v1/login', '/v1/me']);
    expect(asked.map(({ path }) => path).filter((path) => path.includes(token))).toEqual([]);
  });

  test('a page of another origin, and one whose name was rebound to this machine, do not reach a service without authentication', async () => {
    await using open = await StudioTestbed.open();
    const { origin } = new URL(open.url);
    const foreign = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>foreign</p>'));
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    const { port } = foreign.address() as AddressInfo;
    const context = await open.browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      const reached = (await page.evaluate(`Promise.all([
        fetch('${origin}/v1/runs').then((answer) => answer.status, () => 'refused'),
        fetch('${origin}/v1/runs', { method: 'POST', mode: 'no-cors', body: '{}' }).then((answer) => answer.type, () => 'refused'),
        new Promise((resolve) => {
          const frame = document.createElement('iframe');
          frame.src = '${open.url}';
          frame.onload = () => resolve(frame.contentDocument === null ? 'framed elsewhere' : frame.contentDocument.body.textContent);
          document.body.append(frame);
        }),
      ])`)) as unknown[];
      expect(reached).toEqual(['refused', 'opaque', 'framed elsewhere']);
      const listed = [];
      for await (const run of open.client.list()) listed.push(run);
      expect(listed).toEqual([]);
      // A page whose name was rebound has its own name in `Host`, which the browser takes for the same origin.
      const launched = await chromium.launch({
        executablePath: CHROMIUM ?? '',
        args: ['--no-sandbox', '--host-resolver-rules=MAP rebound.example 127.0.0.1'],
      });
      const answer = await (await launched.newPage()).goto(open.url.replace('127.0.0.1', 'rebound.example'));
      expect(answer?.status()).toBe(403);
      await launched.close();
    } finally {
      await context.close();
      foreign.close();
    }
  });

  test('a key that is revoked while the page is open leads back to the question', async () => {
    callers['brief'] = { id: 'brief', scopes: ['runs:read'], principal: { tenant: studio.tenant } };
    const page = await opened('brief', '#/runs');
    await shows(page, 'brief ·');
    expired.add('brief');
    await page.getByRole('link', { name: 'Agents' }).click();
    await shows(page, 'This service asks who you are');
    expect(await page.locator('.runs').count()).toBe(0);
  });

  test('"longhaul studio" shows a service elsewhere, and passes no cookie, no origin and no foreign page on', async () => {
    const seen: Record<string, unknown>[] = [];
    const remote: Server = createServer((request, response) => {
      seen.push({ url: request.url, ...request.headers });
      response.setHeader('content-type', 'application/json').end('{}');
    });
    await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve));
    const { port } = remote.address() as AddressInfo;
    const handler = studioFor(`http://127.0.0.1:${port}/api`);
    const local = await listen(handler, { host: '127.0.0.1', port: 0 });
    try {
      expect((await fetch(`${local.url}/studio`)).status).toBe(200);
      await fetch(`${local.url}/v1/me`, { headers: { authorization: 'Bearer k', cookie: 'a=b', 'x-other': 'c' } });
      expect(seen).toHaveLength(1);
      expect(seen[0]).toMatchObject({ url: '/api/v1/me', authorization: 'Bearer k' });
      expect(Object.keys(seen[0] ?? {})).not.toEqual(expect.arrayContaining(['cookie']));
      const from = (headers: Record<string, string>): Promise<Response> => handler(new Request(`${local.url}/v1/me`, { headers }));
      expect((await from({ host: 'rebound.example' })).status).toBe(403);
      expect((await from({ host: '127.0.0.1', origin: 'https://evil.example' })).status).toBe(403);
      expect((await from({ host: '127.0.0.1', 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect(seen).toHaveLength(1);
    } finally {
      await local.close(0);
      remote.close();
    }
  });
});
