import { parseArgs } from 'node:util';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { Conversation } from './conversation.ts';
import { AGENTS } from './conversations/agents.ts';
import { ANSWERS } from './conversations/answers.ts';
import { CALLS } from './conversations/calls.ts';
import { FAILURES } from './conversations/failures.ts';
import { ORDERS } from './conversations/orders.ts';
import { SESSIONS } from './conversations/sessions.ts';
import { FakeServer } from './fake-provider.ts';
import type { Family } from './families/family.ts';
import { DEEPSEEK, GEMINI, GROQ, KIMI, MISTRAL, XAI } from './families/hosted.ts';
import { LLAMACPP_GEMMA, MINIMAX, OLLAMA, SGLANG, VLLM_GEMMA, VLLM_QWEN } from './families/local.ts';
import { AZURE, OPENAI_CHAT, OPENAI_RESPONSES } from './families/openai.ts';
import { LITELLM_ANTHROPIC, LITELLM_BEDROCK, OPENROUTER } from './families/routers.ts';
import type { Cell } from './play.ts';

/** The families of providers, each with what its servers really refuse and say. */
const FAMILIES: readonly Family[] = [
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  AZURE,
  DEEPSEEK,
  KIMI,
  GEMINI,
  MISTRAL,
  GROQ,
  XAI,
  LITELLM_ANTHROPIC,
  LITELLM_BEDROCK,
  OPENROUTER,
  VLLM_QWEN,
  VLLM_GEMMA,
  LLAMACPP_GEMMA,
  OLLAMA,
  SGLANG,
  MINIMAX,
];

/** The conversations that are held with every family. */
const CONVERSATIONS: readonly Conversation[] = [...ANSWERS, ...CALLS, ...FAILURES, ...ORDERS, ...AGENTS, ...SESSIONS];

/**
 * Holds every conversation of the table with every family of providers: `npm run providers -- --json`. Each cell is a run on a fake that
 * enforces what the servers of the family refuse, and answers in their dialect. Reports the cells that fail, or with `--json` each cell
 * on a line, and a closing line. Exit code 0: all passed; 1: some failed; 2: the options cannot be read.
 */
const USAGE = `Usage: npm run providers -- [--only <family>] [--conversation <part of a name>] [--json] [--list]

Families: ${FAMILIES.map(({ name }) => name).join(', ')}`;

/** Cells at the same time. They wait for each other's sockets more than they compute. */
const AT_ONCE = 24;

interface Options {
  only?: string[];
  conversation?: string[];
  json?: boolean;
  list?: boolean;
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', multiple: true },
        conversation: { type: 'string', multiple: true },
        json: { type: 'boolean' },
        list: { type: 'boolean' },
      },
    });
    const unknown = values.only?.find((name) => FAMILIES.every((family) => family.name !== name));
    if (unknown !== undefined) throw new Error(`There is no family "${unknown}"`);
    return values;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n\n${USAGE}\n`);
    process.exit(2);
  }
}

/** The cells of the table, without those whose family has no such form of an answer. */
function cellsOf({ only, conversation: parts }: Options): Cell[] {
  const families = FAMILIES.filter(({ name }) => only?.includes(name) ?? true);
  const conversations = CONVERSATIONS.filter(({ name }) => parts?.some((part) => name.includes(part)) ?? true);
  return families.flatMap((family) =>
    conversations.filter(({ apis }) => apis?.includes(family.api) ?? true).map((conversation) => ({ family, conversation })),
  );
}

async function main(options: Options): Promise<number> {
  const cells = cellsOf(options);
  if (options.list === true) {
    for (const { family, conversation } of cells) process.stdout.write(`${family.name}: ${conversation.name}\n`);
    return 0;
  }
  // Most of the table is about failures, which a worker logs.
  process.env['LONGHAUL_LOG_LEVEL'] ??= 'OFF';
  const { play } = await import('./play.ts');
  const server = new FakeServer();
  await server.start();
  let failed = 0;
  const left = cells.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const cell of left) {
        const problems = await play(server, cell);
        if (problems.length > 0) failed += 1;
        report(cell, problems, options.json === true);
      }
    }),
  );
  server.close();
  if (cells.length === 0) process.stdout.write('No cell has such a name.\n');
  process.stdout.write(`${cells.length - failed} passed, ${failed} failed\n`);
  return failed > 0 || cells.length === 0 ? 1 : 0;
}

function report({ family, conversation }: Cell, problems: readonly string[], json: boolean): void {
  const ok = problems.length === 0;
  const cell = { family: family.name, conversation: conversation.name, ok, ...(ok ? {} : { problem: problems.join('; ') }) };
  if (json) process.stdout.write(`${JSON.stringify(cell)}\n`);
  else if (!ok) process.stdout.write(`FAILED ${family.name}: ${conversation.name}\n${problems.map((one) => `    ${one}\n`).join('')}`);
}

process.exitCode = await main(readOptions());
