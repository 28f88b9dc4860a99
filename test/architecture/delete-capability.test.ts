import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { withoutCapability } from './delete-capability.ts';
import { PRODUCT_FOLDERS, readTexts } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('an import of a room goes, with the entries that use it, and every other use is reported', () => {
  const list = [
    "import { type Wings, wings } from './wings.ts';",
    'export interface Options extends Wheels, Wings {}',
    'export const ALL = { ...wheels.options, ...wings.options };',
    'const PARTS = [wheels, wings];',
  ].join('\n');
  const files = new Map([
    ['src/define/wings.ts', 'export const wings = 1;'],
    ['src/core/wings.ts', 'export const kept = 1;'],
    ['src/define/list.ts', list],
    ['src/define/other.ts', "import { wings } from './wings.ts';\nexport const fly = () => [0, flap(wings)];"],
  ]);
  const { rooms, texts, problems } = withoutCapability('wing', ['src/define'], files);
  expect(rooms).toEqual(['src/define/wings.ts']);
  expect(texts.get('src/define/list.ts')).toBe(
    '\nexport interface Options extends Wheels {}\nexport const ALL = { ...wheels.options };\nconst PARTS = [wheels];',
  );
  expect(texts.has('src/core/wings.ts')).toBe(true);
  expect(problems).toEqual([]);
  files.set('src/define/other.ts', "import { wings } from './wings.ts';\nexport const fly = () => flap(wings);");
  expect(withoutCapability('wing', ['src/define'], files).problems).toEqual(['src/define/other.ts: uses wings outside of a list']);
});

/** Compiles a product in a separate folder. Returns the compiler's output. */
async function compile(texts: ReadonlyMap<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-without-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.build.json'])
    writeFileSync(join(folder, file), readFileSync(join(root, file)));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const command = [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--noEmit', '--incremental', 'false'];
  return new Promise((resolve) =>
    execFile(process.execPath, command, { cwd: folder }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`)),
  );
}

/** Capabilities, with the sides of the product where each is only an entry in lists. */
const DELETED: { name: string; sides: readonly string[]; rooms: number }[] = [
  { name: 'skill', sides: ['src/define', 'activities', 'src/core/capabilities'], rooms: 3 },
  { name: 'memory', sides: ['src/define', 'activities'], rooms: 2 },
  { name: 'guardrail', sides: ['src/define', 'activities', 'src/core/capabilities'], rooms: 3 },
  // What clients and callers write is on other sides.
  { name: 'permission', sides: ['activities', 'src/core/capabilities', 'src/core/handlers'], rooms: 3 },
  // The memory texts of a model call.
  { name: 'recall', sides: ['src/core/capabilities'], rooms: 1 },
];

test.each(DELETED)('without "$name", the product compiles', { timeout: 180_000 }, async ({ name, sides, rooms: least }) => {
  const { rooms, texts, problems } = withoutCapability(name, sides, readTexts(root, PRODUCT_FOLDERS));
  expect(rooms.length).toBeGreaterThanOrEqual(least);
  expect(problems).toEqual([]);
  expect(await compile(texts)).toBe('');
});
