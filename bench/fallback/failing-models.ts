import { ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { costOf, type ModelPrice, type UsageStats } from '../../src/core/domain/usage.ts';

/** The models of the bench: the first one has outages. */
export const FIRST = 'first/model';
export const SECOND = 'second/model';

export const PRICES: Record<string, ModelPrice> = { [FIRST]: { input: 10, output: 100 }, [SECOND]: { input: 1, output: 10 } };

/** The tool that each answer but the last one calls. */
export const TOOL = 'look_up';

/** Steps of a run: all but the last one call the tool. */
export const STEPS = 5;

const USAGE: UsageStats = { promptTokens: 1_000, completionTokens: 50, totalTokens: 1_050 };

/** The ways the first model fails: without a byte of an answer, or in the middle of an answer, which is paid for. */
const FAILURES = ['model_server_error', 'model_rate_limited', 'model_unauthorized', 'model_unreachable'] as const;

/** What the models have seen. */
export interface Seen {
  /** Calls that the second model has answered because the first one had failed. */
  switched: number;
  /** Items that a model got but had not made. */
  wrongModelItems: number;
  /** Milliseconds from each failure of the first model to the request to the second. */
  addedMs: number[];
  /** US dollars of everything that was delivered, by the question of the run. */
  dollars: Map<string, number>;
}

/** Returns the two models. `outage`: the fraction of calls where the first one fails, the same calls in each measurement. */
export function failingModels(outage: number): { providers: Record<string, ModelClient>; seen: Seen } {
  const seen: Seen = { switched: 0, wrongModelItems: 0, addedMs: [], dollars: new Map() };
  const failedAt = new Map<string, number>();
  let calls = 0;

  const charge = (name: string, question: string): void => {
    const cost = costOf(USAGE, PRICES[name] ?? { input: 0, output: 0 });
    seen.dollars.set(question, (seen.dollars.get(question) ?? 0) + cost);
  };
  const received = (name: string, { conversation }: ModelRequest): { question: string; answers: number } => {
    const items = conversation.flatMap(({ providerItems = [] }) => providerItems);
    seen.wrongModelItems += items.filter((item) => item !== name).length;
    const [question] = conversation.flatMap(({ content }) => content).flatMap((item) => (item.type === 'message' ? [item.content] : []));
    const answers = conversation.filter(({ content }) => content.some(({ type }) => type === 'tool_result')).length;
    return { question: JSON.stringify(question ?? ''), answers };
  };
  const answer = (name: string, request: ModelRequest, { onDelta }: ModelCallContext): ModelResponse => {
    const { question, answers } = received(name, request);
    charge(name, question);
    onDelta?.({ type: 'text', text: 'I look.' });
    const isLast = answers >= STEPS - 1;
    return {
      content: isLast ? 'Done.' : 'I look.',
      toolCalls: isLast ? [] : [{ id: `call ${answers + 1}`, name: TOOL, arguments: { page: answers + 1 } }],
      usage: USAGE,
      finishReason: isLast ? 'stop' : 'tool_calls',
      providerItems: [name],
    };
  };

  const first: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: async (request, context) => {
      calls += 1;
      // Spread evenly: of ten calls, an outage of 0.5 hits each second one.
      const isDown = Math.floor(calls * outage) > Math.floor((calls - 1) * outage);
      if (!isDown) return answer(FIRST, request, context);
      const code = FAILURES[Math.floor(calls * outage) % FAILURES.length] ?? 'model_server_error';
      const { question, answers } = received(FIRST, request);
      if (code === 'model_unreachable') {
        context.onDelta?.({ type: 'text', text: 'half an ans' });
        context.onUsage?.(USAGE);
        charge(FIRST, question);
      }
      failedAt.set(`${question} ${answers}`, performance.now());
      throw new ModelCallError(code, 'The provider is down');
    },
  };
  const second: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: async (request, context) => {
      const { question, answers } = received(SECOND, request);
      const key = `${question} ${answers}`;
      const since = failedAt.get(key);
      if (since !== undefined) {
        seen.addedMs.push(performance.now() - since);
        seen.switched += 1;
        failedAt.delete(key);
      }
      return answer(SECOND, request, context);
    },
  };
  return { providers: { first, second }, seen };
}
