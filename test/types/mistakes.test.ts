import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { compilerOutput } from './compiler-output.ts';
import { MISTAKES } from './mistakes.ts';

const RECORDED = fileURLToPath(new URL('mistakes.txt', import.meta.url));

/** The most lines of a message: more is a page of generics. */
const MOST_LINES = 12;

/** Types that the compiler has cut, or has taken apart, and a type next to itself with other parameters: a page of generics begins so. */
const GENERICS = /\.\.\.|\bObjectOf<|\bShape<|\breadonly of:|\b(\w+)<[^<>]*> \| \1</;

/** What the compiler prints about a mistake, and the column of its code that the first message marks, from 0. */
interface Compiled {
  text: string;
  column: number;
}

/** Compiles each mistake as a user's file against the built types, and returns what the compiler prints for each. */
async function compiled(): Promise<Compiled[]> {
  const imports = "import { defineAgent, defineTool, type RunContext } from 'longhaul';\nimport { z } from 'zod';\n";
  const used = 'export type Used = RunContext | typeof defineTool | typeof defineAgent | typeof z;\n';
  const files = Object.fromEntries(MISTAKES.map(({ code }, index) => [`m${index}.ts`, `${imports}${used}${code}\n`]));
  const output = await compilerOutput(files, { exactOptionalPropertyTypes: true });
  return MISTAKES.map((_, index) => messagesOf(output, `m${index}.ts`));
}

/** Returns the messages about a file: each begins with its name, and continues on lines that are indented. */
function messagesOf(output: string, file: string): Compiled {
  const lines: string[] = [];
  let column = -1;
  let isOfFile = false;
  for (const line of output.split('\n')) {
    if (!line.startsWith(' ')) isOfFile = line.startsWith(`${file}(`);
    if (!isOfFile || line === '') continue;
    const [, marked] = /^m\d+\.ts\(\d+,(\d+)\)/.exec(line) ?? [];
    if (column < 0 && marked !== undefined) column = Number(marked) - 1;
    lines.push(line.replace(/^m\d+\.ts\(\d+,\d+\): /, ''));
  }
  return { text: lines.join('\n'), column };
}

/** Returns the options around a column of a line of code, the outermost first. */
function optionsAt(code: string, column: number): string[] {
  const stack: string[] = [];
  for (const match of code.matchAll(/[{}]|\b(\w+)(?=:)/g)) {
    if (match.index > column) break;
    if (match[0] === '{') stack.push('');
    else if (match[0] === '}') stack.pop();
    else stack[stack.length - 1] = match[0];
  }
  return stack;
}

test('each of at least 40 mistakes in a definition gets a message of at most 12 lines that names the option, as recorded', async () => {
  expect(MISTAKES.length).toBeGreaterThanOrEqual(40);
  const messages = await compiled();
  const report = MISTAKES.map(({ name, code }, index) => `# ${name}\n${code}\n\n${messages[index]?.text}\n`).join('\n');
  if (process.env['RECORD_MISTAKES'] !== undefined) await writeFile(RECORDED, report);
  const unclear = MISTAKES.filter(({ option, code }, index) => {
    const { text, column } = messages[index] ?? { text: '', column: -1 };
    // The message has the name of the option, or marks its value.
    const isNamed = text.includes(`'${option}'`) || optionsAt(code.split('\n').at(-1) ?? '', column).includes(option);
    return text === '' || !isNamed || GENERICS.test(text) || text.split('\n').length > MOST_LINES;
  });
  expect(unclear.map(({ name }) => name)).toEqual([]);
  expect(report).toBe(await readFile(RECORDED, 'utf8'));
}, 120_000);
