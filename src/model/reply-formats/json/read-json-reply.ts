import type { JsonValue } from '../../../core/domain/json/json.ts';
import type { ModelResponse } from '../../../core/domain/model/model.ts';
import type { RecordedResponse } from '../../../core/domain/model/recorded-response.ts';
import { checkJson } from '../../../core/json-schema/check-json-schema.ts';
import { interpretResponse, type InterpretOptions } from '../../interpret-response.ts';
import { type TextResponse, textResponse } from '../text-response.ts';
import { UNUSABLE_REPLY } from '../../../core/domain/content/tool-text.ts';
import type { UnusableReason } from '../unusable-reply.ts';
import { withProblem } from '../with-problem.ts';
import { jsonReply, textOf } from './json-reply.ts';

/** The texts by which the model learns that its answer cannot be used. */
const FEEDBACK: Record<UnusableReason, string> = {
  not_json:
    'Your reply was not valid JSON in the required format. Reply with one JSON object: {"tool": "<name>", "arguments": {…}}, {"answer": …} or {"scratchpad": "<notes>"}.',
  scratchpad: 'Scratchpad noted.',
  empty: 'The reply has none of the fields "tool", "answer" and "scratchpad".',
};

/**
 * Returns an answer in the JSON format in the form that is recorded: a call of a tool with the note beside it as its text, or the
 * answer itself. An answer that is neither becomes a call of `unusable_reply`, which the tool phase answers with what is wrong.
 */
export function readJsonReply(response: ModelResponse, options: InterpretOptions): RecordedResponse {
  const read = textResponse(response);
  // A model that calls tools in the provider's own way is understood, too; a refusal is no attempt at the format.
  if (read === undefined) return interpretResponse(response, options);
  const { text, rest } = read;
  const reply = jsonReply(text);
  switch (reply.type) {
    case 'tool': {
      const call = { id: options.replyId, name: reply.name, arguments: reply.arguments };
      return interpretResponse({ ...rest, content: reply.scratchpad ?? '', toolCalls: [call] }, options);
    }
    case 'answer':
      return interpretResponse({ ...rest, content: answerText(reply.value, options), toolCalls: [] }, options);
    case 'scratchpad':
      return unusable({ text: reply.note, rest }, 'scratchpad', options);
    case 'empty':
      return unusable(read, reply.isBare ? 'empty' : 'not_json', options);
    case 'not_json':
      return unusable(read, 'not_json', options);
  }
}

/**
 * Returns an answer as the text that is recorded. A structured answer is recorded as JSON; if the schema wants no text, a model
 * that wrote its JSON as a text meant the JSON.
 */
function answerText(value: JsonValue, { snapshot: { output } }: InterpretOptions): string {
  if (output === undefined) return textOf(value);
  return typeof value === 'string' && checkJson(output.schema, value).length > 0 ? value : JSON.stringify(value);
}

function unusable({ text, rest }: TextResponse, reason: UnusableReason, options: InterpretOptions): RecordedResponse {
  const call = { id: options.replyId, name: UNUSABLE_REPLY, arguments: { reason } };
  return withProblem(interpretResponse({ ...rest, content: text, toolCalls: [call] }, options), FEEDBACK[reason]);
}
