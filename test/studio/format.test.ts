import { expect, test } from 'vitest';
import { dollars as printed } from '../../src/core/domain/usage.ts';
import { dollars, fromNow, moment, span, spent, wholeMoment } from '../../studio/format.ts';

test('a time span is written in the unit that it is rounded to', () => {
  expect([0, 0.4, 1, 840, 999.4, 999.6, 3_210, 59_940].map(span)).toEqual([
    '< 1 ms',
    '< 1 ms',
    '1 ms',
    '840 ms',
    '999 ms',
    '1.0 s',
    '3.2 s',
    '59.9 s',
  ]);
  expect([59_960, 60_000, 250_000, 7_500_000, 273_600_000].map(span)).toEqual(['1 min', '1 min', '4 min 10 s', '2 h 5 min', '3 d 4 h']);
});

test('how long ago something was is written in whole seconds', () => {
  const now = Date.parse('2026-11-01T00:00:00Z');
  const at = (seconds: number): string => fromNow(new Date(now + seconds * 1_000).toISOString(), now);
  expect([-15, -0.2, 0.4, 9.6, 59.7, -3_700].map(at)).toEqual(['15 s ago', 'now', 'now', 'in 10 s', 'in 1 min', '1 h 1 min ago']);
});

test('a moment of another day has its seconds, and a whole one its time zone', () => {
  expect(moment('2020-01-02T03:04:05.678Z')).toMatch(/^[123] Jan 2020, \d\d:\d4:05$/);
  expect(wholeMoment('2020-01-02T03:04:05.678Z')).toMatch(/^\w+,? [123] January 2020 at \d\d:\d4:05 (UTC|GMT|[A-Z]{2,5})([+-][\d:]+)?$/);
});

test('what is no time is shown as it is', () => {
  expect(['', 'soon'].map(moment)).toEqual(['', 'soon']);
  expect(wholeMoment('soon')).toBe('soon');
});

test('dollars are written as by the command line, and what costs something is never $0', () => {
  const amounts = [0, 0.0000001, 0.0000021, 0.00006, 0.0021, 0.1873, 0.5, 12, 12.34567];
  const written = ['$0.00', '< $0.000001', '$0.000002', '$0.000060', '$0.0021', '$0.1873', '$0.50', '$12.00', '$12.3457'];
  expect(amounts.map(dollars)).toEqual(written);
  expect(amounts.map(printed)).toEqual(written);
});

test('what was used is what providers report and what was estimated, together', () => {
  const estimated = { totalTokens: 5, costUsd: 0.5 };
  expect(spent({ totalTokens: 10, costUsd: 1, estimated })).toEqual({ tokens: 15, cost: 1.5 });
  expect(spent({ totalTokens: 10 }, estimated)).toEqual({ tokens: 15, cost: 0.5 });
  expect(spent(null, estimated)).toEqual({ tokens: 5, cost: 0.5 });
  expect(spent(undefined)).toEqual({ tokens: 0, cost: undefined });
});
