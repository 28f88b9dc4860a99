import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test.each([
  ['README.md', 'examples/readme/agents.ts'],
  ['docs/tour.md', 'examples/first-agent/agents.ts'],
  ['docs/service.md', 'examples/service/service.ts'],
  ['docs/talking.md', 'examples/approvals/refunds.ts'],
  ['docs/code.md', 'examples/executors/run-code.ts'],
  ['docs/hooks.md', 'examples/hooks/refunds.ts'],
  ['docs/capabilities.md', 'examples/capabilities/refunds.ts'],
  ['docs/capabilities.md', 'examples/capabilities/desk.ts'],
  ['docs/tools.md', 'examples/tools/shop.ts'],
  ['docs/programs.md', 'examples/programs/renewals.ts'],
  ['docs/providers.md', 'examples/provider/claude.ts'],
  ['docs/testing.md', 'examples/testing/shop.test.ts'],
  ['docs/workflows.md', 'examples/workflow/report.ts'],
  ['docs/openai.md', 'examples/openai/follow.ts'],
  ['docs/http.md', 'examples/next/route.ts'],
])('%s shows the executed code of %s', (page, path) => {
  expect(read(page)).toContain(`<!-- ${path} -->\n\`\`\`ts\n${read(path)}\`\`\``);
});

test('every piece of TypeScript in the tour is a part of an example that is executed', () => {
  const examples = readdirSync(new URL('../../examples', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => unindented(read(`examples/${path}`)));
  const pieces = [...read('docs/tour.md').matchAll(/```ts\n([^]*?)```/g)].map(([, piece = '']) => piece);
  expect(pieces.length).toBeGreaterThan(8);
  expect(pieces.filter((piece) => !examples.some((example) => example.includes(unindented(piece))))).toEqual([]);
});

test('the README is short: at most 110 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(110);
});

test('the index of the docs names every page', () => {
  const index = read('docs/README.md');
  const pages = readdirSync(new URL('../../docs', import.meta.url)).filter((path) => path.endsWith('.md') && path !== 'README.md');
  expect(pages.filter((page) => !index.includes(`(${page})`))).toEqual([]);
});

test('a first agent takes less than forty lines', () => {
  expect(read('examples/first-agent/agents.ts').split('\n').length).toBeLessThan(40);
});

/** The lines of a text without their common indentation: a piece of a function is shown without it. */
function unindented(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n');
}
