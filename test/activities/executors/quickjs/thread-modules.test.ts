import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../../activities/executors/quickjs/thread/main.ts', import.meta.url));
const IMPORT = /(?:^import (?!type)[^;]*?from |^export [^;]*?from |\bimport\()'([^']+)'/gm;

/** Returns the modules that a module loads, directly or not: files, and names of packages. */
function modulesOf(file: string, found = new Set<string>()): Set<string> {
  found.add(file);
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    if (!name.startsWith('.')) found.add(name);
    else if (!found.has(resolve(dirname(file), name))) modulesOf(resolve(dirname(file), name), found);
  }
  return found;
}

test('the thread of code loads no zlib: Node aborts the process if a thread ends while it creates a stream', () => {
  const modules = [...modulesOf(MAIN)];
  expect(modules.filter((name) => name.includes('/thread/')).length).toBeGreaterThan(1);
  expect(modules).toContain('quickjs-wasi');
  expect(modules).not.toContain('node:zlib');
});
