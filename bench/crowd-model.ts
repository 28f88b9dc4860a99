import type { ModelClient, ModelRequest, ModelResponse } from '../src/core/domain/model/model.ts';
import { scriptedAnswer, stepsAskedFor } from './scripted-run.ts';

/** A model whose answer follows from the request alone, so that many runs may ask it in any order. */
export interface CrowdModel extends ModelClient {
  /** What each run has asked, as JSON, by the first message of the run. */
  readonly requests: ReadonlyMap<string, string[]>;
}

/** A model for runs whose first messages differ and ask for a number of pages (see `promptFor`). */
export function crowdModel(): CrowdModel {
  const requests = new Map<string, string[]>();
  return {
    capabilities: { structuredOutput: true },
    requests,
    call: (request) => {
      const prompt = promptOf(request);
      const asked = requests.get(prompt);
      if (asked === undefined) requests.set(prompt, [JSON.stringify(request)]);
      else asked.push(JSON.stringify(request));
      return Promise.resolve(answerTo(request, stepsAskedFor(prompt) ?? 0));
    },
  };
}

function promptOf({ conversation }: ModelRequest): string {
  const [first] = conversation[0]?.content ?? [];
  return first?.type === 'message' && typeof first.content === 'string' ? first.content : '';
}

/** The script, in the shape of a provider: two events of the conversation are a call and its result. */
function answerTo({ conversation }: ModelRequest, steps: number): ModelResponse {
  const { content, tool_calls: calls } = scriptedAnswer((conversation.length - 1) / 2, steps);
  const toolCalls = (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: called.arguments }));
  return { content: content ?? '', toolCalls, usage: null, finishReason: calls === undefined ? 'stop' : 'tool_calls' };
}

/** How many runs did not ask exactly what runs of the same first messages asked before. */
export function runsThatDiffer(before: CrowdModel['requests'], after: CrowdModel['requests']): number {
  const prompts = new Set([...before.keys(), ...after.keys()]);
  return [...prompts].filter((prompt) => JSON.stringify(before.get(prompt)) !== JSON.stringify(after.get(prompt))).length;
}
