import { describe, expect, it } from 'vitest';
import { errorCode, UsageError } from '../../../src/core/domain/errors.ts';
import { isLoopback, refuseForeignPages, requireLoopback } from '../../../src/server/auth/open-access.ts';

const LOCAL = ['127.0.0.1', '127.8.9.1', '::1', '[::1]', '0:0:0:0:0:0:0:1', 'localhost', 'LocalHost'];
const OPEN = [
  '0.0.0.0',
  '::',
  '',
  '10.0.0.1',
  '128.0.0.1',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  'evil-localhost',
  '127.1',
  '::ffff:127.0.0.1',
  '127.0.0.256',
];

function refusal(headers: Record<string, string>, url = 'http://localhost:8080/v1/runs', origins: string[] = []): string | undefined {
  try {
    refuseForeignPages(new Request(url, { headers }), origins);
  } catch (error) {
    return errorCode(error);
  }
  return undefined;
}

describe('a server without authentication', () => {
  it('listens on loopback alone', () => {
    expect(LOCAL.filter(isLoopback)).toEqual(LOCAL);
    expect(OPEN.filter(isLoopback)).toEqual([]);
    expect(() => requireLoopback('127.0.0.1')).not.toThrow();
    expect(() => requireLoopback('0.0.0.0')).toThrow(UsageError);
    expect(() => requireLoopback('0.0.0.0')).toThrow('longhaul keys create');
  });

  it('answers requests for the names of loopback alone, by their Host', () => {
    for (const host of ['localhost', 'localhost:8080', 'LOCALHOST:8080', '127.0.0.1:1', '[::1]:8080'])
      expect(refusal({ host })).toBeUndefined();
    for (const host of ['evil.example', 'evil.example:8080', '', ':80', 'localhost.evil.example', 'a@evil.example']) {
      expect(refusal({ host })).toBe('forbidden');
    }
    expect(refusal({}, 'http://localhost/')).toBeUndefined();
    expect(refusal({}, 'http://evil.example/')).toBe('forbidden');
  });

  it('answers no page of another origin, unless it is listed', () => {
    const host = 'localhost:8080';
    expect(refusal({ host, origin: 'http://localhost:8080' })).toBeUndefined();
    for (const origin of ['http://localhost:3000', 'https://evil.example', 'null', '', 'http://localhost:8080.evil.example']) {
      expect(refusal({ host, origin })).toBe('forbidden');
    }
    expect(refusal({ host, origin: 'http://localhost:3000' }, undefined, ['http://localhost:3000'])).toBeUndefined();
  });
});
