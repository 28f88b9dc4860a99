import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { foldersAboveLimit, unclearComments } from './language-rules.ts';
import { parseSource, withoutComments } from './source-file.ts';
import { parseTree, PRODUCT_FOLDERS, readTree } from './source-tree.ts';

/**
 * The unclear comments that a folder may still have. A number may only become smaller, and a folder that reaches zero leaves
 * the table: a folder that is not in it may have none.
 */
const ALLOWED: Readonly<Record<string, number>> = {
  activities: 23,
  'activities/agents': 8,
  'activities/attempts': 25,
  'activities/failures': 2,
  'activities/hooks': 5,
  'activities/mcp': 30,
  'activities/model-calls': 19,
  'activities/models/errors': 9,
  'activities/models/openai': 12,
  'activities/resources': 15,
  'activities/run-queries': 7,
  'activities/secrets': 11,
  'activities/tool-calls': 30,
  src: 3,
  'src/archive': 3,
  'src/cli': 20,
  'src/cli/commands': 11,
  'src/cli/program': 9,
  'src/cli/render': 16,
  'src/cli/replay': 5,
  'src/cli/serve': 24,
  'src/cli/timeline': 12,
  'src/client': 13,
  'src/client/export': 10,
  'src/client/listing': 10,
  'src/client/read': 13,
  'src/client/retry': 6,
  'src/client/start': 16,
  'src/client/updates': 26,
  'src/codec': 13,
  'src/core/loop/acting': 25,
  'src/define': 73,
  'src/define/mcp': 17,
  'src/define/options': 25,
  'src/dev-server': 15,
  'src/history': 30,
  'src/log': 13,
  'src/model': 18,
  'src/payload-store': 5,
  'src/schema': 3,
  'src/secrets': 5,
  'src/temporal': 11,
  'src/testing': 34,
  'src/testing/durable': 13,
  'src/testing/harness': 12,
  'src/testing/memory': 33,
  worker: 35,
  workflows: 14,
  'workflows/interceptors': 4,
  'workflows/run': 28,
  'workflows/visibility': 5,
};

test('every folder keeps to the unclear comments that it may still have', () => {
  expect(foldersAboveLimit(readTree(fileURLToPath(new URL('../..', import.meta.url)), PRODUCT_FOLDERS), ALLOWED)).toEqual([]);
});

test('comments are found beside the strings that look like them', () => {
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

test('code without its comments is what is left', () => {
  expect(withoutComments("const a = '/* no */'; /* one */ const b = `// no`; // two\nconst c = /[/*]/;")).toBe(
    "const a = '/* no */';  const b = `// no`; \nconst c = /[/*]/;",
  );
});

describe('an unclear comment', () => {
  test('is a doc comment that begins like a question', () => {
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

  test('is a comment that names no actor', () => {
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

test('a folder may have as many unclear comments as its number says, and none without one', () => {
  const tree = parseTree({ 'src/old/a.ts': '// nobody', 'src/old/b.ts': '// nobody', 'src/new/c.ts': '// somebody' });
  const folders = (allowed: Record<string, number>): string[] =>
    foldersAboveLimit(tree, allowed).filter((sentence) => sentence.endsWith(' allowed'));
  expect(folders({ 'src/old': 2, 'src/new': 1 })).toEqual([]);
  expect(folders({ 'src/old': 1, 'src/new': 2 })).toEqual(['src/old has 2 unclear comments, 1 allowed']);
  expect(folders({ src: 3, 'src/old': 2 })).toEqual(['src/new has 1 unclear comments, 0 allowed']);
});
