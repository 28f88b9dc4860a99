import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { findSuite } from './adapters/index.ts';
import { readCaseFiles } from './case-file.ts';
import { matcherOf } from './match.ts';
import { replayFile } from './replay.ts';
import { failureReport } from './report.ts';

const OWN_CASES = fileURLToPath(new URL('cases', import.meta.url));
/** Each session of an executor starts a thread of its own. */
const CASES_TIMEOUT_MS = 240_000;

// Many cases are about failing tools.
beforeAll(() => void vi.stubEnv('LONGHAUL_LOG_LEVEL', 'OFF'));

/** Every expectation with the same keys and another value for one of them. */
function wrong(expectation: JsonValue): JsonValue[] {
  if (!isJsonObject(expectation) || matcherOf(expectation) !== undefined) return [{ $not: expectation }];
  const { $unordered_tail: _, ...fields } = expectation;
  return Object.keys(fields).map((key) => ({ ...fields, [key]: 'something else' }));
}

describe('the cases of this folder', () => {
  const files = readCaseFiles(OWN_CASES).filter((file) => file.type === 'cases');

  it.each(files)('pass: $suite', { timeout: CASES_TIMEOUT_MS }, async (file) => {
    const replayed = await replayFile(file, findSuite);
    expect(replayed.flatMap(failureReport)).toEqual([]);
    expect(replayed.length).toBeGreaterThan(10);
  });

  it('would fail with other expectations', { timeout: CASES_TIMEOUT_MS }, async () => {
    for (const file of files) {
      const cases = file.cases.flatMap((one) => wrong(one.expect).map((expectation) => ({ ...one, expect: expectation })));
      const replayed = await replayFile({ ...file, cases }, findSuite);
      expect(replayed.filter(({ verdict }) => verdict.type !== 'failed')).toEqual([]);
      expect(replayed.length).toBeGreaterThanOrEqual(file.cases.length);
    }
  });
});
