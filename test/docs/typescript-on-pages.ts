import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Fence, fencesOnPages } from './fences.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = `${root}/.cache/fences`;

/** An error of the compiler in a fence, at its line of the page. */
export interface FenceError {
  at: string;
  code: string;
  message: string;
}

/** Names that a piece leaves out are `any`: the reader has them from the text around it. */
const LEFT_OUT = /^(?:TS2304|TS2503|TS2552|TS18004|TS2580|TS2581|TS2582|TS2584|TS2591|TS2593)$/;

/** What follows from a name that is `any`, or from a piece of a function: type arguments of it, a base class, `return`. */
const OF_ANY = new Set(['TS2347', 'TS4113', 'TS1108']);

/**
 * Compiles every TypeScript fence against the types of the build, in one program for all of them. A fence is a piece of a file: names that
 * it leaves out are declared as `any`, and everything else, such as an option, an export or a member that is not there, is an error.
 */
export async function fenceErrors(fences: readonly Fence[] = typescriptFences()): Promise<FenceError[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const declared = fences.map(() => new Set<string>());
  // Names that are left out hide errors of the same statement, so it is compiled until no further name is missing.
  for (;;) {
    fences.forEach((fence, index) => writeFileSync(`${folder}/${nameOf(index, fence)}`, withNames(fence, declared[index]!)));
    const errors = await compile(fences);
    const missing = errors.filter(({ code, name, index }) => LEFT_OUT.test(code) && name !== undefined && !declared[index]!.has(name));
    if (missing.length === 0) return errors.filter((error) => !isLeftOut(error)).map(({ at, code, message }) => ({ at, code, message }));
    for (const { index, name } of missing) declared[index]!.add(name!);
  }
}

/** A name, a file of the reader such as `./agents.ts`, or a package that the project does not install. */
function isLeftOut({ code, message }: CompilerError): boolean {
  return LEFT_OUT.test(code) || (code === 'TS2307' && !/'longhaul/.test(message)) || OF_ANY.has(code);
}

export function typescriptFences(): Fence[] {
  return fencesOnPages().filter(({ language }) => ['ts', 'tsx', 'typescript'].includes(language));
}

interface CompilerError extends FenceError {
  index: number;
  name: string | undefined;
}

async function compile(fences: readonly Fence[]): Promise<CompilerError[]> {
  const options = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      rootDir: '../..',
      noUnusedLocals: false,
      lib: ['es2024', 'esnext.disposable', 'esnext.array', 'dom'],
      jsx: 'react-jsx',
      types: ['node'],
      // A parameter whose function is left out has no type, and the settings are the ones that most users have.
      noImplicitAny: false,
      noPropertyAccessFromIndexSignature: false,
      noImplicitOverride: false,
    },
    include: ['.'],
    exclude: [],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(options));
  const output = await new Promise<string>((resolve) =>
    execFile(
      process.execPath,
      [`${root}/node_modules/typescript/bin/tsc`, '-p', folder, '--pretty', 'false'],
      { cwd: folder, maxBuffer: 50_000_000 },
      (_, stdout) => resolve(stdout),
    ),
  );
  return [...output.matchAll(/^(?:.*\/)?(\d+)\.\w+\((\d+),\d+\): error (TS\d+): (.*(?:\n .*)*)/gm)].map(
    ([, index = '', line = '', code = '', message = '']) => {
      const fence = fences[Number(index)]!;
      return {
        index: Number(index),
        at: `${fence.page}:${fence.line + Number(line) - 2}`,
        code,
        message,
        name: /'(\w+)'/.exec(message)?.[1],
      };
    },
  );
}

function nameOf(index: number, { language }: Fence): string {
  return `${index}.${language === 'tsx' ? 'tsx' : 'ts'}`;
}

/** The first line declares the omitted parts, so that the lines of the piece stay where they are. */
function withNames({ text }: Fence, names: ReadonlySet<string>): string {
  const declarations = [...names].map((name) => `declare const ${name}: any; type ${name}<_A = any, _B = any, _C = any> = any;`).join(' ');
  return `export {}; ${declarations}\n${wholeText(text)}`;
}

/** Returns a piece as TypeScript: `…` is what the page leaves out, and bare members belong to an object. */
function wholeText(text: string): string {
  const piece = text.replaceAll(/([{[(,]\s*|^\s*)…(?=\s*[,}\])\n])/gm, '$1...(null as any)');
  return /^(?:async )?\w+(?:: |\(.*\) \{$)/.test(piece) && /,\s*(?:\/\/.*)?\s*$/.test(piece)
    ? `({ ${piece} });`
    : piece.replace(/,(\s*)$/, ';$1');
}
