import { describe, expect, test } from 'vitest';
import { importCycles } from './import-cycles.ts';
import { closureViolations, CLOSURES, danglingImports, emptyRooms, importViolations, ZONES } from './import-rules.ts';
import { shapeViolations } from './shape-rules.ts';
import { parseSource } from './source-file.ts';
import { parseTree } from './source-tree.ts';

/** The importing files that break a rule, without the reasons. */
function importersIn(texts: Record<string, string>): string[] {
  return importViolations(parseTree(texts)).map((sentence) => sentence.split(' must not import ')[0] ?? '');
}

/** Returns a predicate: true for a room whose values a zone may not import. */
function isNoValueOf({ room, may = [] }: (typeof ZONES)[number]): (other: string) => boolean {
  return (other) => ![room, ...may].some((allowed) => other === allowed || other.startsWith(`${allowed}/`));
}

describe('a source file', () => {
  test('is read with every kind of import it has', () => {
    const { imports } = parseSource(
      'src/a.ts',
      [
        `import { a } from './a.ts';`,
        `import type { b } from './b.ts';`,
        `import { type c } from './c.ts';`,
        `import './d.ts';`,
        `export { e } from './e.ts';`,
        `export type { f } from './f.ts';`,
        `const text = "import { no } from './no.ts'"; // import './no.ts'`,
        `const g = await import('./g.ts');`,
        `type H = import('./h.ts').H;`,
        `const i = await import(text);`,
      ].join('\n'),
    );
    expect(imports.map(({ specifier, typeOnly, lazy }) => `${specifier}${typeOnly ? ' types' : ''}${lazy ? ' lazily' : ''}`)).toEqual([
      './a.ts',
      './b.ts types',
      './c.ts',
      './d.ts',
      './e.ts',
      './f.ts types',
      './g.ts lazily',
      './h.ts types',
      '(computed) lazily',
    ]);
  });
});

describe('import directions', () => {
  test('workflows may import the pure modules but no activity, not even its types', () => {
    expect(
      importersIn({
        'workflows/good.ts': `import { proxyActivities } from '@temporalio/workflow'; import { runLoop } from '../src/core/kernel/run-loop.ts';`,
        'workflows/types.ts': `import type { AnyAgent } from '../src/define/agent-definition.ts';`,
        'workflows/value.ts': `import { defineAgent } from '../src/define/define-agent.ts';`,
        'workflows/activity.ts': `import type { Runtime } from '../activities/runtime.ts';`,
        'workflows/zod.ts': `import type { z } from 'zod';`,
        'workflows/node.ts': `import { join } from 'node:path';`,
        'workflows/client.ts': `import { Client } from '@temporalio/client';`,
      }),
    ).toEqual(['workflows/value.ts', 'workflows/activity.ts', 'workflows/zod.ts', 'workflows/node.ts', 'workflows/client.ts']);
  });

  test('the loop and the domain import no package and nothing above them', () => {
    expect(
      importersIn({
        'src/core/domain/good.ts': `import { isJsonObject } from './json.ts';`,
        'src/core/domain/zod.ts': `import { z } from 'zod';`,
        'src/core/domain/up.ts': `import { runLoop } from '../kernel/run-loop.ts';`,
        'src/core/kernel/good.ts': `import { isJsonObject } from '../domain/json.ts';`,
        'src/core/kernel/temporal.ts': `import type { Client } from '@temporalio/client';`,
        'src/core/kernel/node.ts': `import { randomUUID } from 'node:crypto';`,
        'src/core/kernel/protocol.ts': `import type { RunInput } from '../protocol.ts';`,
      }),
    ).toEqual([
      'src/core/domain/zod.ts',
      'src/core/domain/up.ts',
      'src/core/kernel/temporal.ts',
      'src/core/kernel/node.ts',
      'src/core/kernel/protocol.ts',
    ]);
  });

  test('only the command line may load the worker, and only lazily', () => {
    expect(
      importersIn({
        'worker/good.ts': `import { createActivities } from '../activities/create-activities.ts'; import { Worker } from '@temporalio/worker';`,
        'src/cli/lazy.ts': `const { createWorker } = await import('../../worker/index.ts');`,
        'src/cli/module.ts': `const agents = await import(path);`,
        'src/cli/eager.ts': `import { createWorker } from '../../worker/index.ts';`,
        'src/client/worker.ts': `const { createWorker } = await import('../../worker/index.ts');`,
        'activities/worker.ts': `import { createWorker } from '../worker/index.ts';`,
        'activities/workflow.ts': `import type { agentRun } from '../workflows/runs.ts';`,
        'src/client/activity.ts': `import type { Runtime } from '../../activities/runtime.ts';`,
        'test/server/any.ts': `import { createWorker } from '../../worker/index.ts';`,
      }),
    ).toEqual(['src/cli/eager.ts', 'src/client/worker.ts', 'activities/worker.ts', 'activities/workflow.ts', 'src/client/activity.ts']);
  });

  test('a computed import and a folder without a zone are refused', () => {
    expect(importViolations(parseTree({ 'src/core/domain/a.ts': `await import(name);`, 'src/unheard-of/b.ts': '' }))).toEqual([
      'src/core/domain/a.ts must not import (computed) (lazily): src/core/domain may not',
      'src/unheard-of/b.ts is in no zone: give it one in import-rules.ts',
    ]);
  });

  test.each(ZONES)('the zone of $room can be broken, by its folder and by the file that it may become', (zone) => {
    const { room, mayTypes = [], mayLazily = [], packageTypes = [], packagesLazily = [] } = zone;
    const up = '../'.repeat(room.split('/').length);
    const lines = [
      `import 'a-package-of-nobody';`,
      `import type { T } from '${up}test/never.ts';`,
      ...mayTypes.filter(isNoValueOf(zone)).map((other) => `import { a } from '${up}${other}/a.ts';`),
      ...mayLazily.filter(isNoValueOf(zone)).map((other) => `import { b } from '${up}${other}/b.ts';`),
      ...packageTypes.map((name) => `import { c } from '${name}';`),
      ...packagesLazily.filter((name) => name !== '(computed)').map((name) => `import { d } from '${name}';`),
    ];
    // A computed import is refused where no zone names it.
    if (!packagesLazily.includes('(computed)')) lines.push('await import(name);');
    const inFolder = importViolations(parseTree({ [`${room}/any.ts`]: lines.join('\n') }));
    expect(inFolder).toHaveLength(lines.length);
    expect(importViolations(parseTree({ [`${room}.ts`]: lines.join('\n').replaceAll(up, up.slice(3) || './') }))).toHaveLength(
      lines.length,
    );
  });

  test.each(CLOSURES.flatMap(({ entries, mustNotLoad }) => mustNotLoad.map((name) => ({ entries, name }))))(
    '$entries is refused for $name through another file',
    ({ entries, name }) => {
      const up = '../'.repeat(entries.split('/').length - 1) || './';
      const specifier = name === 'node:*' ? 'node:fs' : `${name}/sub`;
      const tree = parseTree({ [`${entries}.ts`]: `import '${up}between.ts';`, 'between.ts': `import '${specifier}';` });
      expect(closureViolations(tree).filter((sentence) => sentence.startsWith(`${entries}.ts must not load ${name}:`))).toHaveLength(1);
    },
  );

  test('a rule about a room without files is found', () => {
    const rooms = emptyRooms(parseTree({ 'src/core/domain/json.ts': '', 'src/core/kernel.ts': '', 'worker/index.ts': '' }));
    expect(rooms).toEqual(expect.arrayContaining(['src/core/json-schema', 'workflows', 'src/testing/index']));
    expect(rooms.filter((room) => ['src/core', 'src/core/domain', 'src/core/kernel', 'worker', 'worker/index'].includes(room))).toEqual([]);
  });

  test('an entry is refused for a package that it loads through other files', () => {
    const tree = parseTree({
      'workflows/runs.ts': `import { check } from '../src/schema/check.ts';`,
      'workflows/erased.ts': `import type { z } from '../src/schema/zod.ts';`,
      'src/schema/check.ts': `import { type Schema } from './zod.ts';`,
      'src/schema/zod.ts': `import { z } from 'zod/v4';`,
    });
    expect(closureViolations(tree)).toEqual([
      'workflows/runs.ts must not load zod: workflows/runs.ts > src/schema/check.ts > src/schema/zod.ts > zod',
    ]);
  });

  test('an import needs a file and its extension', () => {
    const tree = parseTree({ 'src/a.ts': `import './b.ts'; import './b'; import './gone.ts';`, 'src/b.ts': '' });
    expect(danglingImports(tree).map((sentence) => sentence.split(',')[0])).toEqual(['src/a.ts imports ./b', 'src/a.ts imports ./gone.ts']);
  });
});

describe('cycles', () => {
  test('are found, also between types', () => {
    const tree = parseTree({
      'src/a.ts': `import { b } from './b.ts';`,
      'src/b.ts': `import type { C } from './c.ts'; import './d.ts';`,
      'src/c.ts': `export { a } from './a.ts';`,
      'src/d.ts': '',
      'src/self.ts': `import './self.ts';`,
    });
    expect(importCycles(tree)).toEqual([
      ['src/a.ts', 'src/b.ts', 'src/c.ts', 'src/a.ts'],
      ['src/self.ts', 'src/self.ts'],
    ]);
  });

  test('are not reported for two paths to one file', () => {
    const tree = parseTree({
      'src/a.ts': `import './b.ts'; import './c.ts';`,
      'src/b.ts': `import './d.ts';`,
      'src/c.ts': `import './d.ts';`,
      'src/d.ts': '',
    });
    expect(importCycles(tree)).toEqual([]);
  });
});

describe('the shape of a file', () => {
  test('is refused for its length, its name, its exports and its casts', () => {
    const tree = parseTree({
      'src/long.ts': 'let x;\n'.repeat(651),
      'src/longest.ts': 'let x;\n'.repeat(650),
      'test/long.test.ts': 'let x;\n'.repeat(651),
      'src/string-utils.ts': '',
      'src/helpers/a.ts': '',
      'src/camelCase.ts': '',
      'src/star.ts': `export * from './long.ts';`,
      'src/cast.ts': 'const a = [] as unknown as string; const b = [] as const;',
      'examples/service/main.ts': '',
      'test/cast.test.ts': 'const a = 1 as unknown as string;',
    });
    expect(shapeViolations(tree).map((sentence) => sentence.split(':')[0])).toEqual([
      'src/long.ts has 651 lines, more than 650',
      'test/long.test.ts has 651 lines, more than 650',
      'src/string-utils.ts is named by the layer word "utils"',
      'src/helpers/a.ts is named by the layer word "helpers"',
      'src/camelCase.ts is not named in kebab-case',
      'src/star.ts has an "export *"',
      'src/cast.ts casts twice',
    ]);
  });
});
