import { expect, test } from 'vitest';
import { partsOf } from './parts.ts';

test.each([true, false])('pages that are out of date are found (with tests: %s)', (tests) => {
  const commands = partsOf(process.cwd(), { tests }).map(({ command }) => command.join(' '));
  expect(commands).toContain('node test/docs/main.ts --check');
});
