import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { Context } from '@temporalio/activity';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** The name of the agent of the storm. */
export const AGENT = 'teller';

/** The name of the program of the storm. */
const PROGRAM = 'drafts';

/** Milliseconds between two pieces of data of a tool. */
const LOOK_MS = 40;

const look = defineTool({
  name: 'look',
  description: 'Looks something up, and tells readers about it',
  parameters: z.object({ number: z.int() }),
  maxAttempts: 20,
  execute: async ({ number }, { emit, signal }) => {
    for (const part of [1, 2, 3]) {
      emit('part', { number, part });
      await pause(LOOK_MS, undefined, { signal });
    }
    return `looked ${number}`;
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ number: z.int() }),
  approval: 'always',
  maxAttempts: 20,
  execute: ({ number }) => `paid ${number}`,
});

/** The agent of the storm: each of its answers is streamed, some attempts at them fail in the middle. */
export const teller = defineAgent({
  name: AGENT,
  model: 'storm/model',
  tools: [look, pay],
  modelMaxAttempts: 20,
  limits: { steps: 1_000 },
});

/** The program of the storm: the model of its first step fails in the middle of each attempt, and another step takes its place. */
export const drafts = defineProgram({
  name: PROGRAM,
  model: 'storm/model',
  input: z.object({ number: z.int() }),
  units: [
    unit('main', {}, [
      ask('Draft', 'Draft {{input.number}}', { refine: { maxAttempts: 2, onExhaustion: 'fallback', fallback: 'Plain' } }),
      ask('Plain', 'Plain {{input.number}}'),
      ask('Last', 'Last {{input.number}}'),
    ]),
  ],
});

/** The first message to the agent, as JSON. */
export interface TellerInput {
  number: number;
  /** Rounds of calls. */
  rounds: number;
}

const USAGE = { promptTokens: 20, completionTokens: 10, totalTokens: 30 };

const TOKEN_MS = 15;
const TOKENS = { least: 15, span: 25 };

/**
 * A model whose answer depends on the conversation and on the attempt alone: each attempt has distinct tokens, so that a reader which mixes
 * two attempts shows what no record contains.
 */
export function streamingModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async (request, context) => {
      const { attempt } = Context.current().info;
      const [prompt = ''] = said(request);
      if (!prompt.startsWith('{')) return asked(prompt, attempt, context);
      const { number, rounds } = JSON.parse(prompt) as TellerInput;
      const round = callsIn(request) + 1;
      const mixed = number * 31 + round * 17;
      const failsAfter = mixed % 3 === 0 && attempt % 2 === 1 ? 8 : undefined;
      return tell(
        { name: `r${round}`, mixed, attempt, failsAfter, code: 'model_server_error' },
        round > rounds ? [] : calls(round),
        context,
      );
    },
  };
}

/** The answer of a step of a program. Of a draft, no attempt succeeds. */
function asked(prompt: string, attempt: number, context: ModelCallContext): Promise<ModelResponse> {
  const [name = ''] = prompt.split(' ');
  return tell(
    { name, mixed: prompt.length, attempt, failsAfter: name === 'Draft' ? 8 : undefined, code: 'model_bad_request' },
    [],
    context,
  );
}

interface Telling {
  name: string;
  mixed: number;
  attempt: number;
  /** The token after which it fails. */
  failsAfter: number | undefined;
  code: 'model_server_error' | 'model_bad_request';
}

async function tell(
  { name, mixed, attempt, failsAfter, code }: Telling,
  toolCalls: RawToolCall[],
  { onDelta, signal }: ModelCallContext,
): Promise<ModelResponse> {
  let content = '';
  onDelta?.({ type: 'reasoning', text: `${name} thinks. ` });
  for (let index = 0; index < TOKENS.least + (mixed % TOKENS.span); index += 1) {
    if (index === failsAfter) throw new ModelCallError(code, 'The provider broke off', { retryAfterMs: 100 });
    await pause(TOKEN_MS, undefined, { signal });
    const text = `${name}a${attempt}t${index} `;
    content += text;
    onDelta?.({ type: 'text', text });
  }
  for (const { id, name: toolName, arguments: args } of toolCalls) {
    for (const text of JSON.stringify(args).match(/.{1,6}/g) ?? []) {
      onDelta?.({ type: 'tool_input', callId: String(id), toolName: String(toolName), text });
    }
  }
  return { content, toolCalls, usage: USAGE, finishReason: toolCalls.length === 0 ? 'stop' : 'tool_calls' };
}

/** The calls of a round: in every third one, one waits for an approval. */
function calls(round: number): RawToolCall[] {
  const names = round % 3 === 0 ? ['look', 'pay'] : ['look'];
  return names.map((name) => ({ id: `${name}-${round}`, name, arguments: { number: round } }));
}

function callsIn({ conversation }: ModelRequest): number {
  return contentOf(conversation).filter((item) => item.type === 'tool_call' && item.name === 'look').length;
}

function said({ conversation }: ModelRequest): string[] {
  return contentOf(conversation).flatMap((item) => (item.type === 'message' && typeof item.content === 'string' ? [item.content] : []));
}

function contentOf(conversation: ModelRequest['conversation']): ContentItem[] {
  return conversation.flatMap(({ content }) => content);
}
