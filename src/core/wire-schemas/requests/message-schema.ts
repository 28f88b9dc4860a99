import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import type { ErrorCode } from '../../domain/errors/error.ts';
import { depthProblem } from '../../domain/json/json-depth.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import type { SendInput } from '../../protocol.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { propertiesOf } from '../../json-schema/json-schema.ts';
import { MAX_ID_LENGTH } from './request-schema.ts';
import { mediaProblems } from '../content-item-schema.ts';
import { IDENTITY_SCHEMA } from '../principal-schema.ts';
import { RUN_INPUT_SCHEMA } from '../run-input-schema.ts';

const MESSAGE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH, description: 'Your own: a message of the same id is taken once.' },
    content: propertiesOf(RUN_INPUT_SCHEMA)['input'] ?? true,
    mode: { enum: ['queue', 'steer', 'interrupt'] },
    principal: IDENTITY_SCHEMA,
  },
  required: ['id', 'content'],
  additionalProperties: false,
};

/** Describes the problem of a message to a run; undefined if there is none. Works in the workflow sandbox and never throws. */
export function messageProblem(value: unknown): { code: ErrorCode; message: string } | undefined {
  if (value === undefined) return { code: 'invalid_input', message: 'expected {"id": "your own", "content": "text"}, got nothing' };
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { code: 'invalid_input', message: tooDeep };
  const problems = checkJson(MESSAGE_SCHEMA, value);
  if (problems.length === 0) problems.push(...mediaProblems((value as SendInput).content, 'content'));
  if (problems.length > 0) return { code: 'invalid_input', message: problemsText(problems) };
  const bytes = jsonBytes((value as SendInput).content);
  if (bytes <= BYTE_BUDGETS.message) return undefined;
  const message = `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}: pass large media by URL, or send it in parts`;
  return { code: 'payload_too_large', message };
}
