import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../src/core/protocol.ts';

const [, line = ''] = /```js\n(localStorage.*)\n```/.exec(readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')) ?? [];
const KEY = 'namespace-workflow-table-columns';

/** The storage of a browser after the line of the docs. */
function storedAfter(before: Record<string, string>, pathname: string): unknown {
  const localStorage = { ...before };
  runInNewContext(line, { localStorage, location: { pathname } });
  return JSON.parse(localStorage[KEY] ?? '');
}

test('the line of the docs adds the search attributes of runs as columns of the namespace, and keeps other columns', () => {
  const shop = [{ label: 'Status', pinned: true }];
  const stored = storedAfter({ [KEY]: JSON.stringify({ shop, default: [] }) }, '/namespaces/default/workflows') as Record<
    string,
    unknown[]
  >;
  expect(stored['shop']).toEqual(shop);
  const labels = (stored['default'] as { label: string }[]).map(({ label }) => label);
  expect(labels).toEqual(expect.arrayContaining(['Workflow ID', SEARCH_ATTRIBUTES.agent, SEARCH_ATTRIBUTES.status]));
  expect(Object.keys(storedAfter({}, '/namespaces/default/workflows') as object)).toEqual(['default']);
});
