import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ALL_FOLDERS, PRODUCT_FOLDERS } from '../architecture/source-tree.ts';
import { checkOut } from '../processes/checkout.ts';
import { beginCommand } from '../processes/command.ts';
import { codeOf, roomOf, type Size, sizeOf, sumOf } from './size.ts';

/**
 * `npm run size`: prints the files and lines of each room at a commit, and with `--against` how many more these are than at an earlier one: what
 * has grown, and what was there. Lines of code are those without comments, blank lines and imports.
 */

const USAGE = 'Usage: npm run size -- [--commit HEAD] [--against <commit>]';

const { options } = beginCommand('size', { parse, usage: USAGE });

function parse(args: readonly string[]): { commit: string; against?: string } {
  const { values } = parseArgs({ args: [...args], options: { commit: { type: 'string', default: 'HEAD' }, against: { type: 'string' } } });
  return values;
}

/** The sizes of the files of a commit, by path. */
function sizesAt(revision: string): Map<string, Size> {
  const { folder, remove } = checkOut(revision);
  try {
    const paths = globSync(
      ALL_FOLDERS.map((one) => `${one}/**/*.{ts,tsx}`),
      { cwd: folder },
    );
    return new Map(paths.map((path) => [path, sizeOf(readFileSync(join(folder, path), 'utf8'))]));
  } finally {
    remove();
  }
}

interface Measured extends Size {
  median: number;
  longest: number;
}

/** The size of each room, and of the product and everything else together. */
function byRoom(sizes: ReadonlyMap<string, Size>): Map<string, Measured> {
  const rooms = new Map<string, Size[]>();
  const add = (room: string, size: Size): void => void rooms.set(room, [...(rooms.get(room) ?? []), size]);
  for (const [path, size] of sizes) {
    add(roomOf(path), size);
    add(PRODUCT_FOLDERS.includes(path.split('/')[0] ?? '') ? 'THE PRODUCT' : 'AROUND IT', size);
  }
  return new Map([...rooms].map(([room, all]) => [room, measured(all)]));
}

function measured(all: readonly Size[]): Measured {
  const lines = all.map((one) => one.lines).toSorted((one, other) => one - other);
  return { ...sumOf(all), median: lines[Math.floor(lines.length / 2)] ?? 0, longest: lines.at(-1) ?? 0 };
}

function row(name: string, now: Measured | undefined, before: Measured | undefined): string {
  const figures = (size: Measured | undefined): number[] =>
    size === undefined ? [0, 0, 0, 0] : [size.files, size.lines, codeOf(size), size.imports];
  const [newer, older] = [figures(now), figures(before)];
  const cells = newer.map((figure, index) => {
    const more = figure - (older[index] ?? 0);
    const change = options.against === undefined ? '' : ` ${more < 0 ? '' : '+'}${more}`.padStart(8);
    return `${String(figure).padStart(7)}${change}`;
  });
  const rest = now === undefined ? '' : `${String(now.median).padStart(6)} ${String(now.longest).padStart(6)}`;
  return `${name.padEnd(30)}${cells.join('')}  ${rest}\n`;
}

const now = byRoom(sizesAt(options.commit));
const before = options.against === undefined ? new Map<string, Measured>() : byRoom(sizesAt(options.against));
const rooms = [...new Set([...now.keys(), ...before.keys()])].toSorted(
  (one, other) => (now.get(other)?.lines ?? 0) - (now.get(one)?.lines ?? 0),
);
process.stdout.write('room: files, lines, lines of code, lines of imports; median, longest\n');
for (const room of rooms) process.stdout.write(row(room, now.get(room), before.get(room)));
