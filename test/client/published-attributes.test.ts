import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { afterEach, expect, test, vi } from 'vitest';
import { withPublishedAttributes } from '../../src/client/start-workflow.ts';

const attributes: SearchAttributePair[] = ['LonghaulSession', 'LonghaulTenant', 'LonghaulUser'].map((name) => ({
  key: defineSearchAttributeKey(name, 'KEYWORD'),
  value: 'x',
}));

function refusal(code: number, details = 'refused'): Error {
  return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
}

/** A start that the server refuses because of its attributes: it says why about the first that it does not take. */
function starting(refuse: (name: string) => Error | undefined): {
  begin: (given: SearchAttributePair[]) => Promise<string>;
  tried: string[];
} {
  const tried: string[] = [];
  return {
    tried,
    begin: async (given) => {
      const names = given.map(({ key }) => key.name);
      tried.push(names.map((name) => name.replace('Longhaul', '')).join(' '));
      const [error] = names.flatMap((name) => refuse(name) ?? []);
      if (error !== undefined) throw error;
      return 'started';
    },
  };
}

function lacking(...names: string[]): ReturnType<typeof starting> {
  return starting((name) =>
    names.includes(name) ? refusal(3, `Namespace default has no mapping defined for search attribute ${name}`) : undefined,
  );
}

afterEach(() => {
  vi.useRealTimers();
});

test('a start leaves out the attribute that the namespace does not have, and no other; later ones for five seconds', async () => {
  vi.useFakeTimers();
  const client = {} as Client;
  const { begin, tried } = lacking('LonghaulSession');
  expect(await withPublishedAttributes(client, attributes, begin)).toBe('started');
  await withPublishedAttributes(client, attributes, begin);
  vi.advanceTimersByTime(5_001);
  await withPublishedAttributes(client, attributes.slice(0, 1), begin);
  expect(tried).toEqual(['Session Tenant User', 'Tenant User', 'Tenant User', 'Session', '']);
});

test('the person who starts is told once of each missing attribute, and what to do', async () => {
  vi.useFakeTimers();
  const client = { options: { namespace: 'acme' } } as Client;
  const told: string[] = [];
  const { begin } = lacking('LonghaulTenant', 'LonghaulUser');
  for (let start = 0; start < 3; start += 1) {
    await withPublishedAttributes(client, attributes, begin, (line) => told.push(line));
    vi.advanceTimersByTime(5_001);
  }
  expect(told).toEqual([
    expect.stringMatching(/^Namespace "acme" lacks the search attribute "LonghaulTenant": .*longhaul doctor/),
    expect.stringMatching(/"LonghaulUser"/),
  ]);
});

test('in a namespace without any of the attributes, they are dropped one by one', async () => {
  const { begin, tried } = lacking('LonghaulSession', 'LonghaulTenant', 'LonghaulUser');
  expect(await withPublishedAttributes({} as Client, attributes, begin)).toBe('started');
  expect(tried).toEqual(['Session Tenant User', 'Tenant User', 'User', '']);
});

test('an attribute whose value is refused is left out of this start only', async () => {
  const client = {} as Client;
  const { begin, tried } = starting((name) => (name === 'LonghaulUser' ? refusal(3, 'LonghaulUser: the value is too long') : undefined));
  for (let start = 0; start < 2; start += 1) await withPublishedAttributes(client, attributes, begin);
  expect(tried).toEqual(['Session Tenant User', 'Session Tenant', 'Session Tenant User', 'Session Tenant']);
});

test('any other error is thrown unchanged', async () => {
  const { begin, tried } = starting(() => refusal(14));
  await expect(withPublishedAttributes({} as Client, attributes, begin)).rejects.toThrow('14: refused');
  expect(tried).toHaveLength(1);
});

test('a start that is invalid for another reason fails with its own error, and its attributes are retried', async () => {
  const client = {} as Client;
  const tried: number[] = [];
  const begin = (given: SearchAttributePair[]): Promise<never> => {
    tried.push(given.length);
    return Promise.reject(refusal(3));
  };
  await expect(withPublishedAttributes(client, attributes, begin)).rejects.toThrow('3: refused');
  await expect(withPublishedAttributes(client, attributes, begin)).rejects.toThrow('3: refused');
  expect(tried).toEqual([3, 0, 3, 0]);
});
