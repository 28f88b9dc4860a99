import { type AssistantMessage, reasoningAskedFor, reasoningText, scriptedAnswer, stepsAskedFor } from './scripted-run.ts';

/** The prompt is near the beginning of a request, after the instructions. */
const HEAD_BYTES = 4_096;
const CALL_ID = Buffer.from('":"call_');
const TOOLS = Buffer.from('"tools":');
const LAST_NUMBER = /^\d+/;
const ID_BYTES = 32;

/**
 * Returns the script's answer to a request (the JSON of Chat Completions); undefined if the request does not give the length of
 * a run. The request is searched, not parsed, so that the figures do not include the time of the fake. A quote inside content
 * is escaped, so that content does not match.
 */
export function answerTo(request: Buffer): AssistantMessage | undefined {
  // A request without tools is for a text: the summary of a conversation that has become too long.
  if (!request.includes(TOOLS)) return { role: 'assistant', content: 'Pages were read.' };
  const steps = stepsAskedFor(request.toString('utf8', 0, HEAD_BYTES));
  return steps === undefined ? undefined : scriptedAnswer(pagesRead(request), steps);
}

/** Returns the reasoning in front of the answer to a request; an empty text if it does not request any. */
export function reasoningFor(request: Buffer): string {
  const chars = reasoningAskedFor(request.toString('utf8', 0, HEAD_BYTES));
  return chars === 0 ? '' : reasoningText(pagesRead(request), chars);
}

/**
 * The number of pages that the run has read: the number of its last call, plus one, because calls are numbered from 0. Earlier
 * messages are not counted: the request may leave some out.
 */
function pagesRead(request: Buffer): number {
  const at = request.lastIndexOf(CALL_ID);
  if (at < 0) return 0;
  const [number] = LAST_NUMBER.exec(request.toString('latin1', at + CALL_ID.length, at + CALL_ID.length + ID_BYTES)) ?? [];
  return number === undefined ? 0 : Number(number) + 1;
}
