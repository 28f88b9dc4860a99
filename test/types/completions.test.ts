import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LanguageServer } from './language-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(ROOT, '.cache', `completions-${process.pid}`);
let server: LanguageServer;

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  const compilerOptions = { module: 'nodenext', target: 'es2024', strict: true, skipLibCheck: true, noEmit: true, types: [] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  server = await LanguageServer.start(join(ROOT, 'node_modules/typescript/bin/tsc'), folder);
}, 60_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const IMPORTS = `import { defineAgent, defineHook, defineTool } from 'longhaul';
import { z } from 'zod';
const refund = defineTool({ name: 'refund', description: 'd', parameters: z.object({ order: z.int() }), execute: () => 1 });
`;

const agent = (options: string): string => `export const one = defineAgent({ name: 'one', ${options} });`;
const tool = (options: string): string =>
  `export const one = defineTool({ name: 'one', description: 'd', parameters: z.object({ order: z.int() }), ${options} });`;

test.each<[what: string, code: string, expected: string[]]>([
  ['the options of an agent', agent("model: 'openai/gpt-5-mini', ¦"), ['instructions', 'tools', 'deps', 'hooks', 'limits', 'permissions']],
  ['models whose price is known', agent("model: '¦'"), ['openai/gpt-5-mini', 'openai/gpt-5']],
  ['models in a list', agent("model: ['openai/gpt-5', '¦']"), ['openai/gpt-5-mini']],
  [
    'the names of deps in instructions',
    agent("model: 'a/b', deps: z.object({ customer: z.string() }), instructions: ({ ¦ }) => ''"),
    ['customer'],
  ],
  ['the names of limits', agent("model: 'a/b', limits: { ¦ }"), ['steps', 'costUsd', 'deadline']],
  ['the names of tools in permissions', agent("model: 'a/b', tools: [refund], permissions: { ask: ['¦'] }"), ['refund']],
  ['the names of tools in rules with a reason', agent("model: 'a/b', tools: [refund], permissions: { ask: [{ tool: '¦' }] }"), ['refund']],
  ['the options of a tool', tool('execute: () => 1, ¦'), ['approval', 'effect', 'timeout', 'maxAttempts']],
  ['the effects of a tool', tool("execute: () => 1, effect: '¦'"), ['once']],
  ['the arguments of a tool', tool('execute: ({ ¦ }) => 1'), ['order']],
  ['what a tool is given', tool('execute: (_, context) => context.¦'), ['deps', 'idempotencyKey', 'signal', 'secret']],
  ['the points of hooks', "export const one = defineHook({ name: 'one', on: '¦', run: () => undefined });", ['pre_request']],
])(
  'an editor proposes %s',
  async (_, marked, expected) => {
    const text = `${IMPORTS}${marked}\n`;
    const offset = text.indexOf('¦');
    const names = await server.completions(join(folder, 'agents.ts'), text.replace('¦', ''), offset);
    expect(expected.filter((name) => !names.includes(name))).toEqual([]);
  },
  60_000,
);
