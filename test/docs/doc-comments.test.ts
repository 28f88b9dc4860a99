import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { packageEntries } from './declarations.ts';
import { commentOf, membersOf } from './members.ts';

test('every export, and every member of an exported interface or class, has a doc comment', () => {
  const bare = packageEntries().flatMap(({ name: entry, exports }) =>
    [...exports].flatMap(([name, declaration]) => [
      ...(commentOf(declaration) === undefined ? [`${entry}: ${name}`] : []),
      ...membersOf(declaration).flatMap((member) =>
        member.comment === undefined ? [`${entry}: ${name}.${member.name} in ${member.file}`] : [],
      ),
    ]),
  );
  expect([...new Set(bare)], 'exports without a comment').toEqual([]);
});

test('the count includes members of interfaces and classes, of their bases, and of shapes', () => {
  const exports = new Map(packageEntries().flatMap((entry) => [...entry.exports]));
  const membersNamed = (name: string): string[] => membersOf(exports.get(name)!).map((member) => member.name);
  expect(membersNamed('RunHandle')).toEqual(expect.arrayContaining(['runId', 'result', 'approve']));
  expect(membersNamed('ModelCallError')).toEqual(expect.arrayContaining(['retryAfterMs', 'code']));
  // An interface that a shape makes, and one with the members of a shape that others share.
  expect(membersNamed('SpilledContent')).toEqual(['store', 'claim', 'bytes', 'sha256']);
  expect(membersNamed('ProgramInput')).toEqual(expect.arrayContaining(['program', 'deps', 'traceparent']));
  expect(exports.size).toBeGreaterThan(600);
});

/** A type that is made from a value: the words of a list, or the keys of a table. */
const OF_A_VALUE = /^(?:export )?(?:declare )?type \w+ = (?:\(typeof (\w+)\)\[number\]|keyof typeof (\w+));?$/;

test('a type that is made from a value which no entry exports is shown as its words: the build of the site fails otherwise', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const entries = packageEntries();
  const exported = new Set(entries.flatMap(({ exports }) => [...exports].map(([, { file, name }]) => `${file}: ${name}`)));
  const found = entries.flatMap(({ exports }) =>
    [...exports].flatMap(([name, declaration]) => {
      const [node] = declaration.nodes;
      const text = readFileSync(`${root}/${declaration.file}`, 'utf8').slice(node?.start, node?.end);
      const [, ofList, ofTable] = OF_A_VALUE.exec(text) ?? [];
      const value = ofList ?? ofTable;
      return value === undefined || exported.has(`${declaration.file}: ${value}`) ? [] : [{ name, comment: commentOf(declaration) ?? '' }];
    }),
  );
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter(({ comment }) => !comment.includes('@useDeclaredType')).map(({ name }) => name)).toEqual([]);
});
