import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { scriptedAnswer, stepsAskedFor } from './scripted-run.ts';
import { setTimeout as sleep } from 'node:timers/promises';

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
      return Promise.resolve(crowdAnswer(request, stepsAskedFor(prompt) ?? 0));
    },
  };
}

function promptOf({ conversation }: ModelRequest): string {
  const [first] = conversation[0]?.content ?? [];
  return first?.type === 'message' && typeof first.content === 'string' ? first.content : '';
}

/** The script, adapted to events: two events of the conversation are a call and its result. */
function crowdAnswer({ conversation }: ModelRequest, steps: number): ModelResponse {
  const { content, tool_calls: calls } = scriptedAnswer((conversation.length - 1) / 2, steps);
  const toolCalls = (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: called.arguments }));
  return { content: content ?? '', toolCalls, usage: null, finishReason: calls === undefined ? 'stop' : 'tool_calls' };
}

/** Counts the runs whose requests differ from the requests of an earlier run with the same first message. */
export function runsThatDiffer(before: CrowdModel['requests'], after: CrowdModel['requests']): number {
  const prompts = new Set([...before.keys(), ...after.keys()]);
  return [...prompts].filter((prompt) => JSON.stringify(before.get(prompt)) !== JSON.stringify(after.get(prompt))).length;
}

/** How a model requests the pages of the script. */
interface SequenceOptions {
  /** The number of calls in one answer. */
  atOnce?: number;
  /** The arguments of a call. Default: a page. */
  args?: string;
  /** Milliseconds until an answer. */
  thinksMs?: number;
}

/**
 * A model that is a function in this process: it costs next to nothing, requests `atOnce` pages at a time, and takes `thinksMs` for
 * an answer.
 */
export function sequenceModel({ atOnce = 1, args, thinksMs = 0 }: SequenceOptions = {}): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async ({ conversation }, { signal }) => {
      const content = conversation.flatMap((event) => event.content);
      const [prompt] = content;
      const asked = prompt?.type === 'message' && typeof prompt.content === 'string' ? stepsAskedFor(prompt.content) : undefined;
      if (thinksMs > 0) await sleep(thinksMs, undefined, { signal });
      return sequenceAnswer(content.filter(({ type }) => type === 'tool_result').length, { pages: asked ?? 0, atOnce, args });
    },
  };
}

/** The model calls of a run of `pages` pages. */
export function sequenceAnswers(pages: number, atOnce: number): number {
  return Math.ceil(pages / atOnce) + 1;
}

function sequenceAnswer(read: number, { pages, atOnce, args }: { pages: number; atOnce: number; args: string | undefined }): ModelResponse {
  const next = Array.from({ length: Math.min(atOnce, pages - read) }, (_, index) => scriptedAnswer(read + index, pages));
  const toolCalls = next.flatMap(({ tool_calls: calls }) =>
    (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: args ?? called.arguments })),
  );
  const isLast = toolCalls.length === 0;
  return { content: isLast ? 'Done.' : '', toolCalls, usage: null, finishReason: isLast ? 'stop' : 'tool_calls' };
}
