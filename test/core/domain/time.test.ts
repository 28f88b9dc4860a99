import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, resource } from '../../../src/index.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../../../src/core/domain/time.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { seconds } from '../../../src/cli/options.ts';

test('a time on the command line is in seconds, or has a unit', () => {
  expect(['90', '1.5', '5m', '250ms'].map(seconds)).toEqual([90_000, 1_500, 300_000, 250]);
});

describe('a duration', () => {
  test.each<[Duration, number]>([
    [1_500, 1_500],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
  ])('%j is %d ms', (duration, ms) => {
    expect(milliseconds(duration, 'x')).toBe(ms);
  });

  test.each([0, -5, Number.NaN, Infinity, '', '5 minutes', '5', '-1s', null, {}, [], 5n])('%s is refused', (bad) => {
    expect(() => milliseconds(bad as Duration, 'tool "x": "timeout"')).toThrow(UsageError);
    expect(() => milliseconds(bad as Duration, 'tool "x": "timeout"')).toThrow(
      /^tool "x": "timeout" is .*: write milliseconds \(at least 1\)/,
    );
  });

  test('is limited to the longest duration of Temporal, or of a timer', () => {
    expect(milliseconds('25d', 'x')).toBe(2_160_000_000);
    expect(() => milliseconds('4000000d', 'x')).toThrow('x is "4000000d": write at most 315576000000000 milliseconds ("3652500d")');
    expect(timerMilliseconds(2_147_483_647, 'x')).toBe(2_147_483_647);
    expect(() => timerMilliseconds(2_147_483_648, 'x')).toThrow('x is 2147483648: write at most 2147483647 milliseconds ("24d")');
  });
});

test('is refused for a timer that cannot run so long, because it would fire at once', () => {
  const tool = { name: 'act', description: 'Acts', parameters: z.object({}), execute: () => 'acted' };
  const agent = { name: 'clerk', model: 'p/m' } as const;
  const timeout = '25d';
  expect(() => defineTool({ ...tool, timeout })).toThrow('tool "act": "timeout" is "25d": write at most 2147483647 milliseconds');
  expect(() => defineTool({ ...tool, heartbeatTimeout: timeout })).toThrow('tool "act": "heartbeatTimeout" is "25d"');
  expect(() => defineAgent({ ...agent, modelTimeout: timeout })).toThrow('agent "clerk": "modelTimeout" is "25d"');
  expect(() => resource({ open: () => 1, timeout })).toThrow('a resource: "timeout" is "25d"');
});
