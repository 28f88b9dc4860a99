import { expect, test } from 'vitest';
import { codeOf, roomOf, sizeOf } from './size.ts';

const TEXT = `import a from 'a';
import {
  b,
} from 'b';

// Why.
/** What
 * it is. */
export { c } from 'c';
export {
  d,
  e,
};
const lazy = import('f');
const python = \`
import sys
from os import path
\`;
`;

test('the lines of a file are comments, blank, imports or code', () => {
  const size = sizeOf(TEXT);
  expect(size).toEqual({ files: 1, lines: 18, comments: 3, blank: 1, imports: 5 });
  expect(codeOf(size)).toBe(9);
});

test.each([
  ['src/core/kernel/run-loop.ts', 'src/core/kernel'],
  ['src/core/capabilities.ts', 'src/core'],
  ['src/index.ts', 'src'],
  ['activities/models/openai/openai.ts', 'activities/models'],
  ['workflows/run/children.ts', 'workflows'],
])('%s is in the room %s', (path, room) => {
  expect(roomOf(path)).toBe(room);
});
