import { type Message, outputText } from '../../../../src/core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { TerminalStatus } from '../../../../src/core/domain/run.ts';
import { list } from '../fields.ts';
import { endOf, type PlayedRun } from '../kit-run.ts';

/** The keys of the results of runs in the notation of the cases. */
export const RUN_KEYS = ['output', 'state', 'steps_taken', 'source', 'error', 'feedback', 'temperatures'];

/** The words of the cases for the ways a run ends. */
const STATES: Readonly<Record<TerminalStatus, string>> = {
  completed: 'completed',
  max_iterations_reached: 'step_limit_reached',
  // The seed has one limit, on steps: a run that another one ends has failed.
  limit_reached: 'error',
  error: 'error',
  cancelled: 'error',
};

/** The message that asks for the final attempt. */
const LAST_WORDS = 'Return your best final answer now.';

/** The facts about runs that depend on the form of the answers. */
export interface RunForm {
  /** Their text about a run without an answer. */
  limitText: string;
  /** Returns the messages that a request has and the one before had not. */
  newMessages(before: readonly Message[], after: readonly Message[]): readonly Message[];
}

/** Answers that are JSON objects: the conversation only grows. */
export const JSON_FORM: RunForm = {
  limitText: 'StepLimitReached: Exceeded max steps without an answer.',
  newMessages: (before, after) => after.slice(before.length),
};

/** Answers that are code: the conversation is pruned, and each step adds an answer. */
export const CODE_FORM: RunForm = {
  limitText: 'StepLimitReached: Exceeded max ReAct steps without an answer.',
  newMessages: (_, after) => after.slice(after.findLastIndex(({ role }) => role === 'assistant')),
};

/**
 * Returns a run in the notation of the cases: the attempt after the last step is not a step, and a run without an answer has an empty
 * output.
 */
export function toTheirRun(played: PlayedRun, expect: JsonValue, form: RunForm): JsonObject {
  const { steps, requests } = played;
  const { status, output, error } = endOf(played);
  const attempt = steps.find(({ final }) => final === true);
  const source = status === 'completed' ? 'normal' : attempt !== undefined && attempt.toolCalls.length === 0 ? 'final_attempt' : null;
  return {
    output: source === null ? '' : outputText(output),
    state: STATES[status],
    steps_taken: steps.filter((step) => step !== attempt).length,
    source,
    error: status === 'max_iterations_reached' && source === null ? form.limitText : error,
    feedback: feedback(played, expect, form),
    temperatures: requests.map(({ settings }) => rounded(settings.temperature ?? null)),
  };
}

/** The messages to the model that the steps have added, by the requests. */
function feedback({ requests }: PlayedRun, expect: JsonValue, { newMessages }: RunForm): string[] {
  const conversations = requests.map(({ conversation }) =>
    conversation.flatMap(({ content }) => content.filter((item) => item.type === 'message')).filter((message) => !isLastWords(message)),
  );
  const added = conversations.flatMap((messages, index) =>
    index === 0
      ? []
      : newMessages(conversations[index - 1] ?? [], messages)
          .filter(({ role }) => role === 'user')
          .map(textOf),
  );
  // Some cases list the message that asks for the final attempt, too.
  const isListed = isJsonObject(expect) && list(expect['feedback']).includes(LAST_WORDS);
  const isAsked = requests.some(({ conversation }) =>
    conversation.some(({ content }) => content.some((item) => item.type === 'message' && isLastWords(item))),
  );
  return isListed && isAsked ? [...added, LAST_WORDS] : added;
}

function isLastWords(message: Message): boolean {
  return message.role === 'user' && textOf(message) === LAST_WORDS;
}

function textOf({ content }: Message): string {
  return outputText(content);
}

/** Rounds a temperature: sums of such fractions are not exact. */
export function rounded(temperature: JsonValue): JsonValue {
  return typeof temperature === 'number' ? Math.round(temperature * 1e6) / 1e6 : temperature;
}
