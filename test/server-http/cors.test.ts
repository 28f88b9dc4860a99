import { describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { Authenticate } from '../../src/server/auth/caller.ts';
import { checkCorsOptions, corsAnswer, type CorsOptions } from '../../src/server/cors.ts';
import { createHandler, type HandlerOptions } from '../../src/server/index.ts';
import { clientWithRun } from './requests.ts';

const APP = 'https://app.example';
const LISTED: CorsOptions = { origins: [APP, 'http://localhost:3000'] };

function request(headers: Record<string, string>, method = 'GET'): Request {
  return new Request('http://localhost/v1/runs', { method, headers });
}

const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-own' };

describe('pages of other origins', () => {
  it('may not call until origins are listed', () => {
    expect(corsAnswer(request({ origin: APP }), {})).toEqual({ headers: {}, isPreflight: false });
    expect(corsAnswer(request({ origin: APP, ...PREFLIGHT }, 'OPTIONS'), {})).toEqual({ headers: {}, isPreflight: false });
  });

  it('may call from a listed origin, and read the answer', () => {
    const { headers, isPreflight } = corsAnswer(request({ origin: APP }), LISTED);
    expect(isPreflight).toBe(false);
    expect(headers).toMatchObject({ vary: 'Origin', 'access-control-allow-origin': APP });
    expect(headers['access-control-expose-headers']).toContain('retry-after');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('may not call from an origin that is only like a listed one', () => {
    for (const origin of [
      `${APP}.evil.example`,
      'http://app.example',
      `${APP}:8443`,
      'https://APP.example',
      'https://xapp.example',
      'null',
      '',
      '*',
    ]) {
      expect(corsAnswer(request({ origin }), LISTED).headers).toEqual({ vary: 'Origin' });
      const preflight = corsAnswer(request({ origin, ...PREFLIGHT }, 'OPTIONS'), LISTED);
      expect(Object.keys(preflight.headers)).toEqual(['vary']);
      expect(preflight.isPreflight).toBe(true);
    }
    expect(corsAnswer(request({}), LISTED)).toEqual({ headers: { vary: 'Origin' }, isPreflight: false });
  });

  it('may ask first, for the methods and headers that they will use', () => {
    expect(corsAnswer(request({ origin: APP, ...PREFLIGHT }, 'OPTIONS'), LISTED)).toEqual({
      headers: {
        vary: 'Origin, Access-Control-Request-Headers',
        'access-control-allow-origin': APP,
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': 'authorization, x-own',
        'access-control-max-age': '600',
      },
      isPreflight: true,
    });
    const odd = { ...PREFLIGHT, 'access-control-request-headers': 'a b, ,*,x-good' };
    expect(corsAnswer(request({ origin: APP, ...odd }, 'OPTIONS'), LISTED).headers['access-control-allow-headers']).toBe('x-good');
    expect(corsAnswer(request({ origin: APP }, 'OPTIONS'), LISTED).isPreflight).toBe(false);
  });

  it('may send cookies if the operator allows it, only from listed origins', () => {
    const withCookies = { ...LISTED, credentials: true };
    expect(corsAnswer(request({ origin: APP }), withCookies).headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-credentials': 'true',
    });
    expect(corsAnswer(request({ origin: 'https://other.example' }), withCookies).headers).toEqual({ vary: 'Origin' });
  });

  it('are listed by exact origins', () => {
    expect(() => checkCorsOptions({})).not.toThrow();
    expect(() => checkCorsOptions(LISTED)).not.toThrow();
    for (const origin of [
      '*',
      'null',
      'app.example',
      `${APP}/`,
      `${APP}/page`,
      'https://*.example',
      'https://APP.example',
      `${APP}:443`,
      'file:///x',
    ]) {
      expect(() => checkCorsOptions({ origins: [origin] })).toThrow(UsageError);
    }
  });
});

describe('a service with authentication', () => {
  /** Sends a request without credentials. Returns the response, its CORS headers, and the number of verifications. */
  async function answered(
    sent: Request,
    options: HandlerOptions = { cors: LISTED },
  ): Promise<{ response: Response; allowed: [string, string][]; verified: number }> {
    const authenticate = vi.fn<Authenticate>(() => undefined);
    const response = await createHandler(clientWithRun({}), { authenticate, ...options })(sent);
    const allowed = [...response.headers].filter(([name]) => name.startsWith('access-control-'));
    return { response, allowed, verified: authenticate.mock.calls.length };
  }

  it('answers the preflight of a listed origin without credentials, on every path', async () => {
    for (const path of ['/v1/runs', '/v1/runs/r/stream', '/v1/tokens', '/v1/responses', '/mcp', '/v1/nothing']) {
      const headers = { origin: APP, ...PREFLIGHT };
      const { response, allowed, verified } = await answered(new Request(`http://localhost${path}`, { method: 'OPTIONS', headers }));
      expect([path, response.status, await response.text(), verified]).toEqual([path, 204, '', 0]);
      expect(Object.fromEntries(allowed)).toMatchObject({
        'access-control-allow-origin': APP,
        'access-control-allow-headers': 'authorization, x-own',
        'access-control-allow-methods': expect.stringContaining('POST') as string,
      });
    }
  });

  it('allows nothing to another origin, neither before a request nor with its answer', async () => {
    for (const origin of ['https://evil.example', `${APP}.evil.example`, 'null']) {
      const preflight = await answered(request({ origin, ...PREFLIGHT }, 'OPTIONS'));
      expect([preflight.response.status, preflight.allowed, preflight.verified]).toEqual([204, [], 0]);
      expect((await answered(request({ origin }))).allowed).toEqual([]);
    }
  });

  it('verifies the request itself, and lets the page read why it is refused', async () => {
    const { response, allowed, verified } = await answered(request({ origin: APP }));
    expect([response.status, verified]).toEqual([401, 1]);
    expect(Object.fromEntries(allowed)).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-expose-headers': expect.stringContaining('www-authenticate') as string,
    });
    expect(await response.json()).toMatchObject({ code: 'unauthenticated' });
  });

  it('allows nothing to any page until origins are listed', async () => {
    for (const options of [{}, { cors: {} }, { cors: { origins: [] } }]) {
      const preflight = await answered(request({ origin: APP, ...PREFLIGHT }, 'OPTIONS'), options);
      expect([preflight.response.status, preflight.allowed]).toEqual([401, []]);
      expect((await answered(request({ origin: APP }), options)).allowed).toEqual([]);
    }
  });
});
