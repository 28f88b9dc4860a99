import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/core/capabilities.ts';
import { PRODUCT_FOLDERS, readTree } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const KERNEL = 'src/core/kernel';
const ROOMS = 'src/core/capabilities';

function textsIn(folder: string): Map<string, string> {
  return new Map(globSync(`${folder}/**/*.ts`, { cwd: root }).map((path) => [path, readFileSync(`${root}/${path}`, 'utf8')]));
}

const product = readTree(root, PRODUCT_FOLDERS);
const kernel = textsIn(KERNEL);
const rooms = new Map([...textsIn(ROOMS), ...textsIn('src/core/sessions')]);

/** The words that name capabilities. */
const NAMES =
  /guardrails?|permissions?|hook(?:s|ed)?\b|skills?|\brecall|\bmemory of|compact|handoffs?|\btransfer|\bflows?\b|\bbranch|\bchild|\bcells?\b|journal|archiv|\bnotif|\bsessions?\b/gi;

/** Returns the number of times that a text names capabilities. */
function namesIn(text: string): number {
  return [...text.matchAll(NAMES)].length;
}

describe('the kernel', () => {
  test('names no capability', () => {
    const found = Object.fromEntries(
      [...kernel].map(([path, text]) => [posix.basename(path), namesIn(text)]).filter(([, count]) => count !== 0),
    );
    expect(found).toEqual({});
  });

  test('is small enough to be read in one sitting', () => {
    const lines = [...kernel.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0);
    expect({ files: kernel.size <= 15, lines: lines <= 4_500 }).toEqual({ files: true, lines: true });
  });
});

test.each([
  ['the guardrails of the agent', 1],
  ['a child session, hooked', 3],
  ['a cancelled call, with archives', 1],
  ['nothing of the kind: cancelled, prepareCall', 0],
])('"%s" names capabilities %d times', (text, count) => {
  expect(namesIn(text)).toBe(count);
});

describe('a slice', () => {
  /** Returns the names of the slices that a text declares for others to import. */
  function shared(text: string): string[] {
    return [...text.matchAll(/export const (\w+) = slice[<(]/g)].map(([, name = '']) => name);
  }

  test('is known to be shared if it is exported', () => {
    expect(shared("const a = slice<string>('a', TEXT);\nexport const b = slice('b', TEXT);")).toEqual(['b']);
  });

  test('is read in the room of its capability alone', () => {
    const readers = [...rooms].flatMap(([path, text]) => {
      const room = posix.dirname(path);
      // A file is its own room; a folder is one for its files.
      const others = [...rooms].filter(([other]) => other !== path && (room === ROOMS || posix.dirname(other) !== room));
      return shared(text).flatMap((name) =>
        room === ROOMS
          ? [`${path} exports "${name}"`]
          : others
              .filter(([, one]) => new RegExp(`\\b${name}\\.(?:of|set|clear)\\(`).test(one))
              .map(([other]) => `${other} reads "${name}"`),
      );
    });
    expect(readers).toEqual([]);
  });

  test('is declared by one capability of the list', () => {
    const declared = [...rooms.values()].reduce((sum, text) => sum + [...text.matchAll(/= slice[<(]/g)].length, 0);
    const listed = CAPABILITIES.flatMap(({ slices = [] }) => slices.map(({ name }) => name));
    expect(new Set(listed).size).toBe(declared);
  });
});

describe('a capability', () => {
  /** Returns the files outside of its room that import a file of it, but for the list. */
  function importersOf(room: string): string[] {
    return [...product.values()].flatMap(({ path, imports }) => {
      const isOutside = path !== 'src/core/capabilities.ts' && !path.startsWith(`${room}/`) && path !== `${room}.ts`;
      const targets = imports.map((one) => posix.join(posix.dirname(path), one.specifier));
      return isOutside && targets.some((target) => target === `${room}.ts` || target.startsWith(`${room}/`)) ? [path] : [];
    });
  }

  // To delete one of these is to delete its room and its lines in the list.
  test.each(['guardrails', 'recall', 'sessions', 'skills'])('"%s" is imported by nothing but the list', (name) => {
    expect(importersOf(`${ROOMS}/${name}`)).toEqual([]);
  });

  // The others are called through a function, by the views, the requests and the ends of a run, its inbox and its outcomes.
  test.each([
    ['archive', 4],
    ['children', 12],
    ['code', 3],
    ['compaction', 3],
    ['flows', 3],
    ['handoffs', 7],
    ['hooks', 4],
    ['notifications', 5],
    ['permissions', 1],
  ])('"%s" is imported by at most %d other files', (name, most) => {
    expect(importersOf(`${ROOMS}/${name}`).length).toBeLessThanOrEqual(most);
  });
});
