import { fileURLToPath } from 'node:url';
import { beforeEach, expect, it, vi } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { matrixSample } from '../matrix-sample.ts';
import { findSuite } from './adapters/index.ts';
import { readCaseFiles } from './case-file.ts';
import { INFORMATIONAL_KEYS, matcherOf } from './match.ts';
import { replayFile } from './replay.ts';

const OWN_CASES = fileURLToPath(new URL('cases', import.meta.url));
/** Each session of an executor starts a separate thread. */
const CASES_TIMEOUT_MS = 240_000;

// Many cases are about failing tools.
beforeEach(() => void vi.stubEnv('LONGHAUL_LOG_LEVEL', 'OFF'));

/** Every expectation with the same keys and another value for one of them. */
function wrong(expectation: JsonValue): JsonValue[] {
  if (!isJsonObject(expectation) || matcherOf(expectation) !== undefined) return [{ $not: expectation }];
  const { $unordered_tail: _, ...fields } = expectation;
  const compared = Object.keys(fields).filter((key) => !INFORMATIONAL_KEYS.includes(key));
  return compared.map((key) => ({ ...fields, [key]: 'something else' }));
}

// That they pass is what `npm run spec -- test/spec/cases` shows.
it('the cases of this folder would fail with other expectations', { timeout: CASES_TIMEOUT_MS }, async () => {
  const files = readCaseFiles(OWN_CASES).filter((file) => file.type === 'cases');
  for (const file of files) {
    expect(file.cases.length).toBeGreaterThan(10);
    const wrongCases = (ones: typeof file.cases) =>
      ones.flatMap((one) => wrong(one.expect).map((expectation) => ({ ...one, expect: expectation })));
    expect(wrongCases(file.cases).length).toBeGreaterThanOrEqual(file.cases.length);
    const cases = wrongCases(matrixSample(file.cases));
    const replayed = await replayFile({ ...file, cases }, findSuite);
    expect(replayed.filter(({ verdict }) => verdict.type !== 'failed')).toEqual([]);
    expect(replayed).toHaveLength(cases.length);
  }
});
