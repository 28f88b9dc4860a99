import { expect, test } from 'vitest';
import { now, timeText } from '../../bench/figures/machine.ts';
import { impossibleFigures } from '../../bench/figures/impossible-figures.ts';
import { tokenText, tokensIn } from '../../bench/stream/token.ts';
import { execFileSync } from 'node:child_process';

test.each([
  [{ p50Ms: -0.94 }, ['p50Ms is -0.94, which is below zero']],
  [{ unpaced: { msPerStep: { idle: NaN } } }, ['unpaced.msPerStep.idle is NaN, which is no number']],
  [{ ratio: Infinity }, ['ratio is Infinity, which is no number']],
  [{ lost: 0.5 }, ['lost is 0.5, which is no whole number']],
  [{ byTenth: [{ events: 3 }, { events: 2.5 }] }, ['byTenth[1].events is 2.5, which is no whole number']],
  [{ lost: -1 }, ['lost is -1, which is below zero']],
  [{ p50Ms: 0, p95Ms: 0.93, deltas: 20_000, historyBytesAdded: -3, machine: { cpu: 'x', memoryGiB: 23.4 }, sink: null }, []],
])('the figures %j are refused for what cannot be', (figures, problems) => {
  expect(impossibleFigures(figures)).toEqual(problems);
});

test('two processes of a machine share the clock', () => {
  const before = now();
  const other = Number(execFileSync(process.execPath, ['-e', 'console.log(Number(process.hrtime.bigint()) / 1e6)'], { encoding: 'utf8' }));
  expect(other).toBeGreaterThan(before);
  expect(other).toBeLessThan(now());
});

test('a time and a token have the same length at any uptime', () => {
  expect(new Set([0, 1.5, 999_999.9999, 1e9].map((time) => timeText(time).length))).toEqual(new Set([16]));
  const [token] = tokensIn(tokenText(7));
  expect(token?.index).toBe(7);
  expect(Math.abs((token?.sentAt ?? 0) - now())).toBeLessThan(60_000);
});
