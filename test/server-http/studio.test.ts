import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createHandler } from '../../src/server/index.ts';
import { STUDIO_POLICY } from '../../src/server/studio.ts';
import { clientWithRun } from './requests.ts';

const open = createHandler(clientWithRun({}), { studio: true });
const get = (path: string, headers: Record<string, string> = {}, handler = open): Promise<Response> =>
  handler(new Request(`http://127.0.0.1:8787${path}`, { headers }));

test('a service has no page unless it is told to', async () => {
  expect((await get('/studio', {}, createHandler(clientWithRun({})))).status).toBe(404);
  expect((await get('/studio')).status).toBe(200);
});

test('the page has the policy, and names its files under its own path', async () => {
  for (const prefix of ['', '/api']) {
    const handler = createHandler(clientWithRun({}), { studio: true, prefix });
    const page = await get(`${prefix}/studio`, {}, handler);
    expect(page.headers.get('content-security-policy')).toBe(STUDIO_POLICY);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const html = await page.text();
    expect(html).not.toMatch(/style=|<style|<script>| on\w+=/);
    const [, file = ''] = /src="([^"]+\.js)"/.exec(html) ?? [];
    expect(file).toMatch(`${prefix}/studio/assets/`);
    const script = await get(file, {}, handler);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('no other file is served', async () => {
  const paths = ['nothing.js', '..%2Findex.html', '%2e%2e/%2e%2e/package.json', 'index-x.map', 'a.js/b', '..%5cindex.html'];
  for (const path of paths) expect([path, (await get(`/studio/assets/${path}`)).status]).toEqual([path, 404]);
});

test('without authentication the page is for this machine alone: neither another host nor another origin loads it', async () => {
  expect((await get('/studio', { host: 'rebound.example' })).status).toBe(403);
  expect((await get('/studio', { host: '127.0.0.1:8787', origin: 'https://evil.example' })).status).toBe(403);
  expect((await get('/studio', { host: '127.0.0.1:8787', 'x-forwarded-for': '10.0.0.1' })).status).toBe(403);
  const remote = await open(new Request('http://127.0.0.1/studio'), { address: '10.0.0.1' });
  expect(remote.status).toBe(403);
});

test('with authentication the page has no data, and is for everyone', async () => {
  const handler = createHandler(clientWithRun({}), { studio: true, authenticate: () => undefined });
  expect((await get('/studio', { host: 'agents.acme.example' }, handler)).status).toBe(200);
  expect((await get('/v1/me', {}, handler)).status).toBe(401);
});

test('the texts of the page are in one file', () => {
  const words = />\s*[A-Z][a-z]+ [a-z]+[^<{}]*</;
  for (const file of ['main', 'runs', 'run', 'steps', 'call', 'inbox', 'request', 'playground', 'agents', 'controls', 'form', 'timeline'])
    expect([file, words.exec(readFileSync(new URL(`../../studio/${file}.tsx`, import.meta.url), 'utf8'))?.[0]]).toEqual([file, undefined]);
});
