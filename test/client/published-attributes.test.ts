import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { afterEach, expect, test, vi } from 'vitest';
import { withPublishedAttributes } from '../../src/client/start/published-attributes.ts';

const attributes: SearchAttributePair[] = [{ key: defineSearchAttributeKey('LonghaulSession', 'KEYWORD'), value: 'clerk' }];

function refusal(code: number): Error {
  return Object.assign(new Error('refused'), { code, details: 'refused', metadata: {} });
}

/** A start that the server refuses with this code if it has attributes. */
function starting(code: number): { begin: (given: SearchAttributePair[]) => Promise<string>; tried: number[] } {
  const tried: number[] = [];
  return {
    tried,
    begin: (given) => {
      tried.push(given.length);
      return given.length > 0 ? Promise.reject(refusal(code)) : Promise.resolve('started');
    },
  };
}

afterEach(() => {
  vi.useRealTimers();
});

test('a start whose attributes the namespace refuses is repeated without them, and later ones leave them out for a minute', async () => {
  vi.useFakeTimers();
  const client = {} as Client;
  const { begin, tried } = starting(3);
  expect(await withPublishedAttributes(client, attributes, begin)).toBe('started');
  expect(tried).toEqual([1, 0]);
  await withPublishedAttributes(client, attributes, begin);
  expect(tried).toEqual([1, 0, 0]);
  vi.advanceTimersByTime(60_001);
  await withPublishedAttributes(client, attributes, begin);
  expect(tried).toEqual([1, 0, 0, 1, 0]);
});

test('any other error is thrown as it is', async () => {
  const { begin, tried } = starting(14);
  await expect(withPublishedAttributes({} as Client, attributes, begin)).rejects.toThrow('refused');
  expect(tried).toEqual([1]);
});

test('a start that is invalid for another reason fails with its own error, and its attributes are tried again', async () => {
  const client = {} as Client;
  const tried: number[] = [];
  const begin = (given: SearchAttributePair[]): Promise<never> => {
    tried.push(given.length);
    return Promise.reject(refusal(3));
  };
  await expect(withPublishedAttributes(client, attributes, begin)).rejects.toThrow('refused');
  await expect(withPublishedAttributes(client, attributes, begin)).rejects.toThrow('refused');
  expect(tried).toEqual([1, 0, 1, 0]);
});
