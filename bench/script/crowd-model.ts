import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { scriptedAnswer, stepsAskedFor } from './scripted-run.ts';

/** A model whose answer depends on the request alone, so that many runs may call it in any order. */
export interface CrowdModel extends ModelClient {
  /** The requests of each run, as JSON, by the first message of the run. */
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

/** The script, adapted to events: two events of the conversation are a call and its result. */
function answerTo({ conversation }: ModelRequest, steps: number): ModelResponse {
  const { content, tool_calls: calls } = scriptedAnswer((conversation.length - 1) / 2, steps);
  const toolCalls = (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: called.arguments }));
  return { content: content ?? '', toolCalls, usage: null, finishReason: calls === undefined ? 'stop' : 'tool_calls' };
}

/** Counts the runs whose requests differ from the requests of an earlier run with the same first message. */
export function runsThatDiffer(before: CrowdModel['requests'], after: CrowdModel['requests']): number {
  const prompts = new Set([...before.keys(), ...after.keys()]);
  return [...prompts].filter((prompt) => JSON.stringify(before.get(prompt)) !== JSON.stringify(after.get(prompt))).length;
}
