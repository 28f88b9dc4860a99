import { uniqueText } from './unique-text.ts';

/** The one tool of every run. */
export const TOOL_NAME = 'read_page';

/** The system message of every run. */
export const INSTRUCTIONS = 'You read pages. Call the tool for one page at a time.';

/** The description of the tool for the model. */
export const TOOL_DESCRIPTION = 'Reads one page and returns its text.';

/** The JSON Schema of the tool's arguments. */
export const PAGE_PARAMETERS = {
  type: 'object',
  properties: { page: { type: 'number' } },
  required: ['page'],
  additionalProperties: false,
} as const;

/** A message of the assistant, in the form of Chat Completions. */
export type AssistantMessage =
  | { role: 'assistant'; content: null; tool_calls: [PageCall] }
  | { role: 'assistant'; content: string; tool_calls?: never };

/** A call of the one tool. */
export interface PageCall {
  id: string;
  type: 'function';
  function: { name: typeof TOOL_NAME; arguments: string };
}

/**
 * The number of the first page. All pages, and so all calls, have numbers of the same length: the size of a step must not
 * depend on its number.
 */
const FIRST_PAGE = 1_001;
const ID_DIGITS = 24;
const PROMPT = /Read exactly (\d+) pages/;
const THOUGHTS = /Think (\d+) characters/;

/**
 * The message that starts a run of `steps` steps, with this many characters of reasoning before each answer. The fake provider reads both
 * from it.
 */
export function promptFor(steps: number, reasoningChars = 0): string {
  const prompt = `Read exactly ${steps} pages, one after the other, then stop.`;
  return reasoningChars === 0 ? prompt : `${prompt} Think ${reasoningChars} characters before each answer.`;
}

/** The characters of reasoning that a text with the prompt asks for. */
export function reasoningAskedFor(text: string): number {
  return Number(THOUGHTS.exec(text)?.[1] ?? 0);
}

/** The reasoning before the answer after `results` tool results. */
export function reasoningText(results: number, chars: number): string {
  return uniqueText(1_000_000 + results, chars);
}

/** The number of steps in a text that contains the prompt; undefined if it does not. */
export function stepsAskedFor(text: string): number | undefined {
  const [, steps] = PROMPT.exec(text) ?? [];
  return steps === undefined ? undefined : Number(steps);
}

/** The model's answer after `results` tool results: one more call, or the final answer. */
export function scriptedAnswer(results: number, steps: number): AssistantMessage {
  if (results >= steps) return { role: 'assistant', content: `Done: ${steps} pages.` };
  // Ids are as long as OpenAI's.
  const id = `call_${String(results).padStart(ID_DIGITS, '0')}`;
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: TOOL_NAME, arguments: JSON.stringify({ page: FIRST_PAGE + results }) } }],
  };
}

/** The result of the tool: the text of a page. */
export function pageText(page: number, chars: number): string {
  return uniqueText(page, chars);
}

/**
 * Bytes of the content of a run of `steps` steps, for every side: each model response and each tool result once, as compact
 * JSON.
 */
export function contentBytes(steps: number, resultChars: number): number {
  let bytes = 0;
  for (let results = 0; results <= steps; results += 1) bytes += jsonBytes(scriptedAnswer(results, steps));
  for (let page = FIRST_PAGE; page < FIRST_PAGE + steps; page += 1) bytes += jsonBytes(pageText(page, resultChars));
  return bytes;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
