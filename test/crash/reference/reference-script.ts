import type { JsonObject } from '../../../src/core/domain/json/json.ts';
import type { RawToolCall } from '../../../src/core/domain/model/model.ts';

/** What the model of the reference run asks for, step by step. The last step after these is the answer. */
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

/** The calls that happen once: one whose tool can look up what became of it, and one whose tool cannot. */
export const ONCE = { s4: { tool: 'charge', verify: true }, s5: { tool: 'post_letter', verify: false } } as const;

/** The deps that the run begins with. */
export const DEPS = { customer: 'ann', rank: 'silver' };

/** What the model answers. */
export interface Answer {
  done: string[];
  /** Calls that have failed, or of which nobody knows. */
  unclear: string[];
}

/** What came of a call, as far as the answer depends on it. */
export interface CallStatus {
  toolCallId: string;
  status: 'success' | 'error';
}

/** The answer follows from what came of the calls. */
export function answerOf(results: readonly CallStatus[]): Answer {
  const withStatus = (wanted: CallStatus['status']): string[] =>
    results.filter(({ status }) => status === wanted).map(({ toolCallId }) => toolCallId);
  return { done: withStatus('success'), unclear: withStatus('error') };
}

/** What a call does, as the ledger calls it. */
export function effectOf(tool: string, callId: string): string {
  return `${tool} ${callId}`;
}

/** All effects that an undisturbed run has. */
export const EFFECTS: readonly string[] = SCRIPT.flat().map(({ name, id }) => effectOf(String(name), String(id)));

function call(name: string, id: string, args: JsonObject = {}): RawToolCall & { name: string; id: string } {
  return { id, name, arguments: args };
}
