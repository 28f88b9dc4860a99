import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { unclearComments } from './language-rules.ts';
import { parseSource, withoutComments } from './source-file.ts';
import { ALL_FOLDERS, parseTree, readTree } from './source-tree.ts';

test('no comment of the project is unclear', () => {
  expect(unclearComments(readTree(fileURLToPath(new URL('../..', import.meta.url)), ALL_FOLDERS))).toEqual([]);
});

test('comments are distinguished from strings that look like comments', () => {
  const { comments } = parseSource(
    'src/a.ts',
    [
      `// one`,
      `const a = '→ // no'; // two`,
      'const b = `/* no ${/* three */ a} // no`;',
      `const c = /[/*]/; /* four */`,
      `/**`,
      ` * five,`,
      ` * on two lines`,
      ` */`,
    ].join('\n'),
  );
  expect(comments).toEqual([
    { doc: false, text: 'one' },
    { doc: false, text: 'two' },
    { doc: false, text: 'three' },
    { doc: false, text: 'four' },
    { doc: true, text: 'five,\n on two lines' },
  ]);
});

test('code can be stripped of its comments', () => {
  expect(withoutComments("const a = '/* no */'; /* one */ const b = `// no`; // two\nconst c = /[/*]/;")).toBe(
    "const a = '/* no */';  const b = `// no`; \nconst c = /[/*]/;",
  );
});

describe('a comment is unclear', () => {
  test('if it is a doc comment that begins like a question', () => {
    const tree = parseTree({
      'src/unclear.ts': `/** What a tool returns. */ const a = 1;\n/**\n * whether it ended\n */\nconst b = 1;\n/** Those that wait. */ const c = 1;`,
      'src/clear.ts': `/** The result of a tool. */ const a = 1; // What follows is its text.\n/** Offset of the event. */ const b = '/** What */';`,
    });
    expect(unclearComments(tree)).toEqual([
      'src/unclear.ts has a doc comment that begins with "What": What a tool returns.',
      'src/unclear.ts has a doc comment that begins with "whether": whether it ended',
      'src/unclear.ts has a doc comment that begins with "Those": Those that wait.',
    ]);
  });

  test('if it names no actor', () => {
    const tree = parseTree({
      'src/unclear.ts': `// Nobody waits for it, whatever happens.\nconst nobody = 1;`,
      'src/clear.ts': `// No caller waits for it.\nconst whoever = 'somebody';`,
    });
    expect(unclearComments(tree)).toEqual([
      'src/unclear.ts says "Nobody" in a comment: name the actor: Nobody waits for it, whatever happens.',
      'src/unclear.ts says "whatever" in a comment: name the actor: Nobody waits for it, whatever happens.',
    ]);
  });
});
