import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/core/domain/errors/error.ts';
import { checkCorsOptions, corsAnswer, type CorsOptions } from '../../src/server/cors/cors.ts';

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

  it('may send cookies if the operator says so, from listed origins alone', () => {
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
