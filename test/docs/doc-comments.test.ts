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

test('what is counted: members of interfaces and classes, of their bases, and of shapes', () => {
  const exports = new Map(packageEntries().flatMap((entry) => [...entry.exports]));
  const membersNamed = (name: string): string[] => membersOf(exports.get(name)!).map((member) => member.name);
  expect(membersNamed('RunHandle')).toEqual(expect.arrayContaining(['runId', 'result', 'approve']));
  expect(membersNamed('ModelCallError')).toEqual(expect.arrayContaining(['retryAfterMs', 'code']));
  // An interface that a shape makes, and one with the members of a shape that others share.
  expect(membersNamed('SpilledContent')).toEqual(['store', 'claim', 'bytes', 'sha256']);
  expect(membersNamed('ProgramInput')).toEqual(expect.arrayContaining(['program', 'deps', 'traceparent']));
  expect(exports.size).toBeGreaterThan(600);
});
