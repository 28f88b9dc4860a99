import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, RawToolCall } from '../../../src/core/domain/model.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { seeded } from '../runs/random-kills.ts';

/** The name of the agent whose workers are killed. */
export const RECOVERING = 'courier';

/** The answers with calls before the last answer. */
export const ROUNDS = 6;

/** The time of a model call and of a tool call, in milliseconds. */
const CALL_MS = { least: 200, most: 2_000 };

/** An agent that calls a remote and a local tool in turn. All options that matter after a crash are the defaults. */
export function recoveringAgent(): AnyAgent {
  const parameters = z.object({ ms: z.int() });
  const carry = defineTool({
    name: 'carry',
    description: 'Carries something',
    parameters,
    execute: async ({ ms }, { signal }) => pause(ms, 'carried', { signal }),
  });
  const note = defineTool({ name: 'note', description: 'Notes something', parameters, tier: 'local', execute: () => 'noted' });
  return defineAgent({ name: RECOVERING, model: 'recovery/courier', tools: [carry, note] });
}

/** A model whose answers, and their times, depend on the conversation alone. */
export function recoveringModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async ({ conversation }, { signal }) => {
      const round = conversation.filter(({ content }) => content.some(isToolCall)).length;
      const random = seeded(round + hashOf(JSON.stringify(conversation[0]?.content)));
      const [modelMs, toolMs] = [timeOf(random()), timeOf(random())];
      await pause(modelMs, undefined, { signal });
      const toolCalls: RawToolCall[] =
        round < ROUNDS ? [{ id: `c${round}`, name: round % 2 === 0 ? 'carry' : 'note', arguments: { ms: toolMs } }] : [];
      return { content: `answer ${round}`, toolCalls, usage: null, finishReason: toolCalls.length === 0 ? 'stop' : 'tool_calls' };
    },
  };
}

function timeOf(random: number): number {
  return Math.round(CALL_MS.least * (CALL_MS.most / CALL_MS.least) ** random);
}

function hashOf(text: string): number {
  let hash = 7;
  for (const character of text) hash = Math.imul(hash, 31) + (character.codePointAt(0) ?? 0);
  return hash;
}
