import type { ModelClient, ModelRequest } from '../../src/core/domain/model.ts';
import { uniqueText } from '../script/unique-text.ts';
import { now } from '../figures/machine.ts';
import { answerText, questionIn } from './question.ts';

/** The length of a summary in characters. */
const SUMMARY_CHARS = 1_000;

/** Outside the seeds of questions, which count from 0. */
const FIRST_SEED = 1_000_000;

/** A model that answers the newest question with its id. */
export interface EchoModel extends ModelClient {
  /** The time of each call by the id of its question, in milliseconds since the epoch. Summaries have no time. */
  readonly calledAt: Map<string, number>;
}

/** Makes a model for conversations of questions, which answers with `chars` characters. */
export function echoModel(chars: number): EchoModel {
  const calledAt = new Map<string, number>();
  let seed = FIRST_SEED;
  return {
    capabilities: { structuredOutput: true },
    calledAt,
    call: (request) => {
      seed += 1;
      const id = questionIn(newestMessage(request));
      if (id !== undefined) calledAt.set(id, now());
      const content = id === undefined ? `Summary ${uniqueText(seed, SUMMARY_CHARS)}` : answerText(id, seed, chars);
      const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
      return Promise.resolve({ content, toolCalls: [], usage, finishReason: 'stop' });
    },
  };
}

function newestMessage({ conversation }: ModelRequest): string {
  const item = conversation.at(-1)?.content.at(-1);
  return item?.type === 'message' && typeof item.content === 'string' ? item.content : '';
}
