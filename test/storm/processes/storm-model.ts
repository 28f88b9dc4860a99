import { isToolCall, outputText, type ToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** The first message to the talker, as JSON. */
export interface TalkerInput {
  /** Number of payments that it requests in all. */
  payments: number;
  /** Number of payments that it requests in one response. */
  together: number;
  /** Milliseconds of a call that comes with the first of them; 0: no call. */
  workMs: number;
}

/** The first message to the clerk, as JSON. */
export interface ClerkInput {
  /** Rounds of calls. */
  rounds: number;
}

/** The message that makes the talker answer. */
export const STOP = 'stop';

/** A model whose answer depends on the conversation alone: it is the same for every worker and every repetition. */
export function stormModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => Promise.resolve(MODELS[request.model]?.(request) ?? talker(request)),
  };
}

const MODELS: Readonly<Record<string, (request: ModelRequest) => ModelResponse>> = { payer, talker, clerk, greeter };

/**
 * Two calls at once in every round; in every third round one that waits for approval, and in the next one a call of an MCP
 * server.
 */
function clerk(request: ModelRequest): ModelResponse {
  if (request.tools.length === 0) return answer('Much was said.');
  const { rounds } = JSON.parse(said(request)[0] ?? '') as ClerkInput;
  const round = lastNumber(request) + 1;
  if (round > rounds) return answer('Done.');
  const asked = round % 3 === 0 ? [payment(round)] : [];
  const others = ['rest', 'note'].map((name): RawToolCall => ({ id: `${name}-${round}`, name, arguments: { number: round } }));
  const echo = round % 3 === 1 ? [{ id: `echo-${round}`, name: 'echo', arguments: { message: 'here' } }] : [];
  return calls([...asked, ...others, ...echo]);
}

/** Two calls at once, and then the answer. */
function greeter(request: ModelRequest): ModelResponse {
  if (lastNumber(request) > 0) return answer('Welcome.');
  return calls(['rest', 'note'].map((name) => ({ id: `${name}-1`, name, arguments: { number: 1 } })));
}

/** Makes the payment of its input once, and answers with the result. */
function payer(request: ModelRequest): ModelResponse {
  const result = request.conversation.flatMap(({ content }) => content).find((item) => item.type === 'tool_result');
  if (result !== undefined) return answer(result.content.map((part) => outputText(part)).join(' '));
  return calls([{ id: 'pay-1', name: 'pay', arguments: { number: Number(said(request)[0]) } }]);
}

/** Requests its payments, rests when there are none left, and answers when it is told to. */
function talker(request: ModelRequest): ModelResponse {
  const [first = '', ...messages] = said(request);
  // A request for a summary has no tools.
  if (request.tools.length === 0) return answer('Much was said.');
  if (messages.includes(STOP)) return answer('Stopped.');
  const { payments, together, workMs } = JSON.parse(first) as TalkerInput;
  const last = lastNumber(request);
  const count = Math.max(0, Math.min(together, payments - last));
  if (count === 0) return calls([{ id: 'rest', name: 'rest', arguments: { number: last } }]);
  const asked: RawToolCall[] = Array.from({ length: count }, (_, index) => payment(last + 1 + index));
  if (last === 0 && workMs > 0) asked.push({ id: 'work', name: 'work', arguments: { number: 0, ms: workMs } });
  return calls(asked);
}

function payment(number: number): RawToolCall {
  return { id: `pay-${number}`, name: 'pay', arguments: { number } };
}

/** The number of the last requested payment. */
function lastNumber({ conversation }: ModelRequest): number {
  const asked = conversation.flatMap(({ content }): ToolCall[] => content.filter(isToolCall));
  return Math.max(0, ...asked.map((call) => Number(call.arguments['number'] ?? 0)));
}

function said({ conversation }: ModelRequest): string[] {
  return conversation
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function calls(toolCalls: RawToolCall[]): ModelResponse {
  return { content: '', toolCalls, usage: USAGE, finishReason: 'tool_calls' };
}
