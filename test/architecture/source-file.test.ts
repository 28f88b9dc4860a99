import { expect, test } from 'vitest';
import { withoutComments } from './source-file.ts';

test('code can be stripped of its comments', () => {
  expect(withoutComments("const a = '/* no */'; /* one */ const b = `// no`; // two\nconst c = /[/*]/;")).toBe(
    "const a = '/* no */';  const b = `// no`; \nconst c = /[/*]/;",
  );
});
