import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelClient, ModelResponse } from '../../src/core/domain/model.ts';
import { scriptedAnswer, stepsAskedFor } from './scripted-run.ts';

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
      return answerTo(content.filter(({ type }) => type === 'tool_result').length, { pages: asked ?? 0, atOnce, args });
    },
  };
}

/** The model calls of a run of `pages` pages. */
export function sequenceAnswers(pages: number, atOnce: number): number {
  return Math.ceil(pages / atOnce) + 1;
}

function answerTo(read: number, { pages, atOnce, args }: { pages: number; atOnce: number; args: string | undefined }): ModelResponse {
  const next = Array.from({ length: Math.min(atOnce, pages - read) }, (_, index) => scriptedAnswer(read + index, pages));
  const toolCalls = next.flatMap(({ tool_calls: calls }) =>
    (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: args ?? called.arguments })),
  );
  const isLast = toolCalls.length === 0;
  return { content: isLast ? 'Done.' : '', toolCalls, usage: null, finishReason: isLast ? 'stop' : 'tool_calls' };
}
