import { z } from 'zod';
import type { CodecOptions } from '../../../src/codec/encryption.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, failWith, say, type ScriptEntry, together } from '../../../src/testing/index.ts';

/** A text for each field that holds user data: without the key none must be readable. */
export const SECRETS = {
  prompt: 'secret-of-the-prompt-5b1e',
  deps: 'secret-of-the-deps-81cc',
  instructions: 'secret-of-the-instructions-c2a9',
  toolDescription: 'secret-of-the-tool-description-90d4',
  toolArguments: 'secret-of-the-tool-arguments-77f0',
  toolResult: 'secret-of-the-tool-result-3ad1',
  toolFailure: 'secret-of-the-tool-failure-e6b2',
  state: 'secret-of-the-state-19fe',
  thought: 'secret-of-the-thought-a40d',
  modelFailure: 'secret-of-the-model-failure-6c83',
  message: 'secret-of-the-message-0d2b',
  answer: 'secret-of-the-answer-f519',
  partialAnswer: 'secret-of-the-partial-answer-2e7c',
  cancelReason: 'secret-of-the-cancel-reason-b8a6',
  runFailure: 'secret-of-the-run-failure-44d7',
} as const;

const lookUp = defineTool({
  name: 'look_up',
  description: `Looks something up (${SECRETS.toolDescription})`,
  parameters: z.object({ query: z.string() }),
  execute: (_, { setState }) => {
    setState('found', SECRETS.state);
    return `found: ${SECRETS.toolResult}`;
  },
});

const fail = defineTool({
  name: 'fail',
  description: 'Fails',
  parameters: z.object({}),
  execute: () => {
    throw new Error(SECRETS.toolFailure);
  },
});

/** An agent whose data must be encrypted. */
export const keeper = defineAgent({
  name: 'keeper',
  model: 'scripted/model-1',
  deps: z.object({ customer: z.string().default('nobody') }),
  instructions: ({ customer }) => `Be discreet (${SECRETS.instructions}) with ${customer}.`,
  tools: [lookUp, fail],
});

/** A run with two tool calls, a failed attempt and an answer. */
export const DISCREET_SCRIPT: readonly ScriptEntry[] = [
  together(say(SECRETS.thought), callTool('look_up', { query: SECRETS.toolArguments }), callTool('fail', {})),
  failWith('model_server_error', SECRETS.modelFailure, { retryAfter: 1 }),
  say(SECRETS.answer),
];

/** A codec with one key, made from the id and the byte. */
export function codecWith(activeKeyId: string, byte: number): CodecOptions & { encryption: { activeKeyId: string } } {
  return { compression: true, encryption: { activeKeyId, keys: { [activeKeyId]: new Uint8Array(32).fill(byte) } } };
}

/** The keys of `codecWith` in the form of the environment variable. */
export function keysVariable(keyId: string, byte: number): string {
  return `${keyId}:${Buffer.alloc(32, byte).toString('base64')}`;
}
