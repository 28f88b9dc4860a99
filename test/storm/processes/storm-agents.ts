import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, mcpServer } from '../../../src/index.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { writeEffect } from './ledger.ts';

/** An MCP server in a process of each worker, which dies with it. */
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** Milliseconds of a call that does nothing: a run without work should not keep its worker busy. */
const REST_MS = 100;

/**
 * The agents of the storm: one that pays once, one that goes on until it is told to stop, one with so many rounds of calls, and one with a single round.
 * Payments are recorded in the ledger.
 */
export function stormAgents(ledger: string): AnyAgent[] {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ number: z.int() }),
    approval: 'always',
    execute: ({ number }, { runId, idempotencyKey: key, retry }) => {
      writeEffect(ledger, { tool: 'pay', runId, number, key, retry, at: Date.now() });
      return `paid ${number}`;
    },
  });
  const rest = defineTool({
    name: 'rest',
    description: 'Does nothing for a moment. The number is that of the last payment',
    parameters: z.object({ number: z.int() }),
    execute: () => pause(REST_MS, 'rested'),
  });
  const work = defineTool({
    name: 'work',
    description: 'Works for so many milliseconds',
    parameters: z.object({ number: z.int(), ms: z.int() }),
    timeout: '10m',
    execute: async ({ number, ms }, { runId, idempotencyKey: key, retry, signal }) => {
      await pause(ms, undefined, { signal });
      writeEffect(ledger, { tool: 'work', runId, number, key, retry, at: Date.now() });
      return 'worked';
    },
  });
  const note = defineTool({
    name: 'note',
    description: 'Notes something, without a task of its own',
    parameters: z.object({ number: z.int() }),
    tier: 'local',
    execute: ({ number }) => `noted ${number}`,
  });
  const everything = mcpServer({
    name: 'everything',
    command: process.execPath,
    args: [EVERYTHING, 'stdio'],
    tools: { include: ['echo'] },
  });
  const payer = defineAgent({ name: 'payer', model: 'storm/payer', tools: [pay] });
  const talker = defineAgent({ name: 'talker', model: 'storm/talker', tools: [pay, rest, work], limits: { steps: 1_000_000 } });
  const clerk = defineAgent({ name: 'clerk', model: 'storm/clerk', tools: [pay, rest, note], mcp: [everything], limits: { steps: 1_000 } });
  const greeter = defineAgent({ name: 'greeter', model: 'storm/greeter', tools: [rest, note] });
  return [payer, talker, clerk, greeter];
}
