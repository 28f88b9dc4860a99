import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { historyFile } from './histories.ts';
import { LOOP_CHANGES, THROWING_CHANGE, waitsBeforeStep2, WORDING_CHANGE } from './loop-mutations.ts';
import { mutatedText } from './mutation.ts';
import { ATTEMPT_CHANGES, EXECUTION_CHANGES, ORDER_CHANGES } from './program-mutations.ts';

/** The mutations are applied by matrices, which a commit runs in parts: a line that has moved is to fail here, at once. */
const BROKEN_CHANGES = [...LOOP_CHANGES, ...ORDER_CHANGES, ...ATTEMPT_CHANGES, ...EXECUTION_CHANGES];
const MUTATIONS = [...BROKEN_CHANGES, THROWING_CHANGE, WORDING_CHANGE, waitsBeforeStep2()];

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the place of every mutation is in its file exactly once', () => {
  for (const mutation of MUTATIONS) {
    const text = readFileSync(`${root}/${mutation.file}`, 'utf8');
    expect(mutatedText(text, mutation)).not.toBe(text);
  }
});

test('every mutation is replayed against a history that is there', () => {
  expect(BROKEN_CHANGES.filter(({ history }) => !existsSync(historyFile(history))).map(({ history }) => history)).toEqual([]);
});

test('every list of mutations is checked here', () => {
  const sources = readdirSync(`${root}/test`, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const withMutations = sources.filter((file) => {
    const text = readFileSync(`${root}/test/${file}`, 'utf8');
    return /^ +find: .*,$/m.test(text) && /^ +replace: /m.test(text);
  });
  expect(withMutations.toSorted()).toEqual(['replay/loop-mutations.ts', 'replay/program-mutations.ts']);
});
