import { expect, test } from 'vitest';
import { parseSource, withoutComments } from './source-file.ts';

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
