import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { findUi, runLink } from '../../../src/cli/command.ts';

async function withHttpServer(body: string, work: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((_request, response) => response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('the link leads to the run, for any characters in its id', () => {
  expect(runLink('http://ui:8233/', 'default', 'a b/c')).toBe('http://ui:8233/namespaces/default/workflows/a%20b%2Fc');
});

test('the address of the UI is LONGHAUL_UI_URL, or the UI of Temporal Cloud', async () => {
  const cloud = { address: 'acme.a1b2c.tmprl.cloud:7233', namespace: 'acme.a1b2c' };
  expect(await findUi(cloud, {})).toBe('https://cloud.temporal.io');
  expect(await findUi(cloud, { LONGHAUL_UI_URL: 'https://ui.acme.example' })).toBe('https://ui.acme.example');
  expect(await findUi({ address: 'temporal.acme.example:7233', namespace: 'default' }, {})).toBeUndefined();
});

test('for a local server it is the UI that answers at the port of the dev server', async () => {
  await withHttpServer('{"DefaultNamespace":"default"}', async (port) => {
    expect(await findUi({ address: `127.0.0.1:${port - 1000}`, namespace: 'default' }, {})).toBe(`http://127.0.0.1:${port}`);
    expect(await findUi({ address: `localhost:${port - 1000}`, namespace: 'default' }, {})).toBe(`http://127.0.0.1:${port}`);
  });
});

test('another server at that port is not taken for the UI', async () => {
  await withHttpServer('<html></html>', async (port) => {
    expect(await findUi({ address: `127.0.0.1:${port - 1000}`, namespace: 'default' }, {})).toBeUndefined();
  });
  expect(await findUi({ address: '127.0.0.1:1', namespace: 'default' }, {})).toBeUndefined();
});
