import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutToken } from '../../../src/server/auth/run-tokens.ts';

it.each([
  ['/v1/runs/r1/stream?token=abc', '/v1/runs/r1/stream'],
  ['/v1/runs/r1/stream?token=abc&cursor=c', '/v1/runs/r1/stream?cursor=c'],
  ['/v1/runs/r1/stream?cursor=c&token=abc', '/v1/runs/r1/stream?cursor=c'],
  ['https://x.example/s?a=1&token=abc&b=2&token=def#top', 'https://x.example/s?a=1&b=2#top'],
  ['/s?%74oken=abc&Token=abc', '/s'],
  ['/s?token', '/s'],
  ['/s#token=abc', '/s'],
  ['/s?token=abc?def;ghi&a=1', '/s?a=1'],
  ['/s?tokens=1&mytoken=2&%zz=3', '/s?tokens=1&mytoken=2&%zz=3'],
  ['/token=abc', '/token=abc'],
  ['', ''],
])('%s is logged as %s', (url, logged) => {
  expect(withoutToken(url)).toBe(logged);
});

it('leaves all other parameters as a server reads them', () => {
  const parameter = fc.tuple(fc.oneof(fc.string(), fc.constantFrom('token', 'cursor')), fc.string());
  fc.assert(
    fc.property(fc.array(parameter), (parameters) => {
      const url = new URL('http://localhost/v1/runs/r1/stream');
      for (const [name, value] of parameters) url.searchParams.append(name, value);
      const others = parameters.filter(([name]) => name.trim().toLowerCase() !== 'token');
      expect([...new URL(withoutToken(url.href)).searchParams]).toEqual(others);
    }),
  );
});
