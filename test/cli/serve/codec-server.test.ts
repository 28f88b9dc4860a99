import { request as httpRequest } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type CodecServerOptions, startCodecServer } from '../../../src/cli/serve/codec-server.ts';
import { key } from '../../codec/payloads.ts';

const codec = { compression: { threshold: 100 }, encryption: { activeKeyId: 'k1', keys: { k1: key(1) } } };
const UI = 'http://localhost:8233';

async function start(options: Partial<CodecServerOptions> = {}): Promise<string> {
  const server = await startCodecServer({ codec, ...options });
  onTestFinished(() => server.stop());
  return server.url;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const clear = { metadata: { encoding: base64('json/plain') }, data: base64('"the secret is 42"') };
const long = { metadata: { encoding: base64('json/plain') }, data: base64(`"${'again '.repeat(200)}"`) };

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method: 'POST', body: text, headers: { 'content-type': 'application/json', 'x-namespace': 'default', ...headers } });
}

async function payloadsOf(response: Response): Promise<(typeof clear)[]> {
  expect(response.status).toBe(200);
  return ((await response.json()) as { payloads: (typeof clear)[] }).payloads;
}

describe('a codec server', () => {
  test('decodes its own encoded payloads, at its root and below any path', async () => {
    const url = await start();
    for (const [encode, decode] of [
      ['/encode', '/decode'],
      ['/default/encode', '/some/path//decode'],
    ]) {
      const encoded = await payloadsOf(await post(`${url}${encode}`, { payloads: [clear, long] }));
      expect(JSON.stringify(encoded)).not.toContain(clear.data);
      for (const one of encoded) expect(one.metadata.encoding).toBe(base64('binary/aes-256-gcm'));
      expect(encoded[1]?.data.length).toBeLessThan(long.data.length / 2);
      expect(await payloadsOf(await post(`${url}${decode}`, { payloads: encoded }))).toEqual([clear, long]);
    }
  });

  test('returns unencoded payloads unchanged, and an empty list for none', async () => {
    const url = await start();
    const odd = { metadata: { encoding: base64('binary/null') }, externalPayloads: [{ sizeBytes: '7' }] };
    expect(await payloadsOf(await post(`${url}/decode`, { payloads: [clear, odd, {}] }))).toEqual([clear, odd, {}]);
    expect(await payloadsOf(await post(`${url}/decode`, { payloads: [] }))).toEqual([]);
  });

  test('names the missing key', async () => {
    const encoded = await payloadsOf(await post(`${await start()}/encode`, { payloads: [clear] }));
    const other = await start({ codec: { encryption: { activeKeyId: 'k2', keys: { k2: key(2) } } } });
    const answer = await post(`${other}/decode`, { payloads: encoded });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('"k1" is missing');
  });

  test.each([
    '',
    'no JSON',
    '[]',
    '{}',
    '{"payloads": {}}',
    '{"payloads": [7]}',
    '{"payloads": [{"data": 7}]}',
    '{"payloads": [{"metadata": {"a": 7}}]}',
  ])('refuses the body %j with the expected form', async (body) => {
    const answer = await post(`${await start()}/decode`, body);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('{"payloads":');
  });

  test('refuses all other requests', async () => {
    const url = await start();
    expect((await post(`${url}/`, {})).status).toBe(404);
    expect((await post(`${url}/decode/more`, {})).status).toBe(404);
    expect((await fetch(`${url}/decode`)).status).toBe(405);
  });

  test('accepts a body up to its limit and not a byte more, with or without a declared length', async () => {
    const body = JSON.stringify({ payloads: [clear] });
    expect((await post(`${await start({ maxBodyBytes: body.length })}/encode`, body)).status).toBe(200);
    const url = await start({ maxBodyBytes: body.length - 1 });
    expect((await post(`${url}/encode`, body)).status).toBe(413);
    expect(await postInChunks(`${url}/encode`, body)).toBe(413);
  });
});

describe('the token', () => {
  test('is checked before anything is decoded', async () => {
    const url = await start({ token: 'open sesame' });
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: 'open sesame' },
      { authorization: 'Bearer open sesame !' },
    ]) {
      const answer = await post(`${url}/decode`, { payloads: [clear] }, headers);
      expect({ headers, status: answer.status }).toEqual({ headers, status: 401 });
      expect(await answer.text()).not.toContain('sesame');
    }
    expect(await payloadsOf(await post(`${url}/decode`, { payloads: [clear] }, { authorization: 'Bearer open sesame' }))).toEqual([clear]);
  });

  test('is required if other machines can call', async () => {
    await expect(startCodecServer({ codec, host: '0.0.0.0' })).rejects.toThrow('would show clear text');
    expect(await start({ host: '0.0.0.0', token: 't' })).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
  });
});

describe('pages', () => {
  const allowsOrigin = (origin: string): boolean => origin === UI;
  const preflight = { origin: UI, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-namespace' };

  test('of an allowed origin get the preflight answer that the Temporal UI needs, without a token', async () => {
    const url = await start({ allowsOrigin, token: 't' });
    const answer = await fetch(`${url}/decode`, { method: 'OPTIONS', headers: preflight });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe(UI);
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
    expect(answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')).toEqual(
      expect.arrayContaining(['content-type', 'x-namespace', 'authorization']),
    );
    // Only the answer to the page itself has content: it needs the token, and shows why it was refused.
    const refused = await post(`${url}/decode`, { payloads: [] }, { origin: UI });
    expect({ status: refused.status, origin: refused.headers.get('access-control-allow-origin') }).toEqual({ status: 401, origin: UI });
    const local = await fetch(`${url}/decode`, {
      method: 'OPTIONS',
      headers: { ...preflight, 'access-control-request-private-network': 'true' },
    });
    expect(local.headers.get('access-control-allow-private-network')).toBe('true');
  });

  test.each(['http://evil.example', 'http://localhost:8234', 'null'])(
    'of the origin %s are refused, without a header that allows them',
    async (origin) => {
      const url = await start({ allowsOrigin });
      for (const answer of [
        await fetch(`${url}/decode`, { method: 'OPTIONS', headers: { ...preflight, origin } }),
        await post(`${url}/decode`, { payloads: [clear] }, { origin }),
      ]) {
        expect(answer.status).toBe(403);
        expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        expect(await answer.text()).toContain(`--allow-origin ${origin}`);
      }
    },
  );
});

test('a port in use is a usage error that names it', async () => {
  const port = Number(new URL(await start()).port);
  await expect(startCodecServer({ codec, port })).rejects.toThrow(`"127.0.0.1:${port}"`);
});

async function postInChunks(url: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST' }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.write(body.slice(0, 10));
    request.end(body.slice(10));
  });
}
