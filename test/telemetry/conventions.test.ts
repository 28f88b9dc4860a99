import { expect, test } from 'vitest';
import { ATTRIBUTES, CONVENTIONS, METRICS } from '../../src/telemetry/names.ts';
import { READ_CONVENTIONS as vendored } from './read-conventions.ts';

const NAMES: readonly string[] = [...Object.values(ATTRIBUTES), ...Object.values(METRICS)].filter((name) =>
  /^(?:gen_ai|error)\./.test(name),
);
const KNOWN = new Set(vendored.read.flatMap(({ names }) => names));
const RENAMED: ReadonlyMap<string, string> = new Map(vendored.read.flatMap(({ renamed = {} }) => Object.entries(renamed)));

test('every name of the conventions is one of the list that was read from them, or the older name next to its new one', () => {
  expect(NAMES.length).toBeGreaterThan(25);
  expect(NAMES.filter((name) => !KNOWN.has(name) && !RENAMED.has(name))).toEqual([]);
  for (const older of NAMES.filter((name) => RENAMED.has(name))) expect(NAMES).toContain(RENAMED.get(older));
});

test('the code names the commit that the list was read from', () => {
  expect(CONVENTIONS).toEqual({ repository: vendored.repository, commit: vendored.read[0]?.commit });
  for (const { commit } of vendored.read) expect(commit).toMatch(/^[0-9a-f]{40}$/);
});
