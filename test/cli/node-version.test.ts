import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeProblem } from '../../src/cli/node-version.ts';

test.each(['22.15.0', '22.16.1', '24.0.0', '100.1.0'])('Node %s will do', (version) => {
  expect(nodeProblem(version)).toBeUndefined();
});

test.each(['20.19.1', '22.14.0', '18.0.0'])('Node %s is refused with what is needed', (version) => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } };
  expect(nodeProblem(version)).toBe(
    `Node ${engines.node.replace('>=', '')} or newer is needed, and this is ${version}: install a newer one, or put it first in PATH`,
  );
});
