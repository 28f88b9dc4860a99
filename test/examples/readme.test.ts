import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test.each([
  'examples/first-agent/agents.ts',
  'examples/service/service.ts',
  'examples/approvals/refunds.ts',
  'examples/tools/shop.ts',
  'examples/testing/shop.test.ts',
])('the README shows %s as it is run', (path) => {
  expect(read('README.md')).toContain(`<!-- ${path} -->\n\`\`\`ts\n${read(path)}\`\`\``);
});

test('a first agent takes less than forty lines', () => {
  expect(read('examples/first-agent/agents.ts').split('\n').length).toBeLessThan(40);
});
