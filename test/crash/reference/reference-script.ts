import type { JsonObject } from '../../../src/core/domain/json.ts';
import type { RawToolCall } from '../../../src/core/domain/model.ts';

/** The tool calls of the reference run, step by step. The step after these is the answer. */
export const SCRIPT: readonly (readonly RawToolCall[])[] = [
  [call('look_up', 's1')],
  [call('note', 's2')],
  [call('reserve', 's3a'), call('reserve', 's3b'), call('note', 's3c')],
  [call('charge', 's4')],
  [call('post_letter', 's5')],
  [call('refund', 's6')],
  [call('promote', 's7')],
  [call('greet', 's8a'), call('quote', 's8b')],
  // The tool of an MCP server.
  [call('weigh', 's9', { order: 's9' })],
];

/** The call that needs a decision. */
export const REFUND = 's6';

/** The calls with effect `once`: one whose tool can verify the outcome, and one whose tool cannot. */
export const ONCE = { s4: { tool: 'charge', verify: true }, s5: { tool: 'post_letter', verify: false } } as const;

/** The deps that the run begins with. */
export const DEPS = { customer: 'ann', rank: 'silver' };

/** The model's answer. */
export interface Answer {
  done: string[];
  /** Calls that have failed, or whose outcome is unknown. */
  unclear: string[];
}

/** The outcome of a call, as far as the answer depends on it. */
export interface CallStatus {
  toolCallId: string;
  status: 'success' | 'error';
}

/** The answer depends on the outcomes of the calls. */
export function answerOf(results: readonly CallStatus[]): Answer {
  const withStatus = (wanted: CallStatus['status']): string[] =>
    results.filter(({ status }) => status === wanted).map(({ toolCallId }) => toolCallId);
  return { done: withStatus('success'), unclear: withStatus('error') };
}

/** The name of a call's effect in the ledger. */
export function effectOf(tool: string, callId: string): string {
  return `${tool} ${callId}`;
}

/** All effects of an undisturbed run. */
export const EFFECTS: readonly string[] = SCRIPT.flat().map(({ name, id }) => effectOf(String(name), String(id)));

function call(name: string, id: string, args: JsonObject = {}): RawToolCall & { name: string; id: string } {
  return { id, name, arguments: args };
}
