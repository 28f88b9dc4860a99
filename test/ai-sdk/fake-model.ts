import type { CallOptions, StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import type { ModelCallContext, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import type { AiSdkModel } from '../../worker/index.ts';

/** A model of a package that yields these parts, or rejects with this error. */
export interface FakeModel extends AiSdkModel {
  readonly calls: CallOptions[];
}

export type Yielded = readonly StreamPart[] | Error | 'nothing';

export function fakeModel(answers: readonly Yielded[], facts: Partial<Omit<AiSdkModel, 'doStream'>> = {}): FakeModel {
  const calls: CallOptions[] = [];
  return {
    specificationVersion: 'v4',
    provider: 'fake.chat',
    modelId: 'fake-1',
    supportedUrls: {},
    ...facts,
    calls,
    doStream: (options) => {
      const answer = answers[Math.min(calls.push(options), answers.length) - 1] ?? [];
      if (answer instanceof Error) return Promise.reject(answer);
      const stream = new ReadableStream<StreamPart>({
        start: (controller) => {
          if (answer === 'nothing') return;
          for (const part of answer) controller.enqueue(part);
          controller.close();
        },
      });
      return Promise.resolve({ stream });
    },
  };
}

export const FINISH: StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'end' },
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } },
};

/** The parts of an answer of text alone. */
export function textParts(text: string): StreamPart[] {
  return [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: text }, { type: 'text-end', id: '0' }, FINISH];
}

export function userEvent(content: string): ModelRequest['conversation'][number] {
  return { author: 'user', content: [{ type: 'message', role: 'user', content }] };
}

export function request(parts: Partial<ModelRequest> = {}): ModelRequest {
  return { model: 'fake-1', instructions: [], conversation: [userEvent('Q')], tools: [], settings: {}, ...parts };
}

/** The answer as its event has it for the next request. */
export function answerEvent({ content, toolCalls, providerItems }: ModelResponse): ModelRequest['conversation'][number] {
  return {
    author: 'clerk',
    content: [
      ...(content === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content }]),
      ...toolCalls.map(({ id, name, arguments: given }) => ({
        type: 'tool_call' as const,
        toolCallId: String(id),
        name: String(name),
        arguments: JSON.parse(String(given)) as Record<string, string>,
      })),
    ],
    ...(providerItems === undefined ? {} : { providerItems }),
  };
}

export const context = (parts: Partial<ModelCallContext> = {}): ModelCallContext => ({ signal: AbortSignal.timeout(10_000), ...parts });
