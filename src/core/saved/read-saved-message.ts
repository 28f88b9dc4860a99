import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import type { JsonProblem } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/short-json.ts';
import { knownFields, ownMember, type Place } from './known-fields.ts';
import { SAVED_ROLES, type SavedMessage, type SavedRole } from './saved-context.ts';
import { toSavedMessage } from './to-saved-context.ts';

const FIELDS: Record<keyof SavedMessage, true> = {
  role: true,
  content: true,
  tool_calls: true,
  tool_call_id: true,
  name: true,
  metadata: true,
  reasoning_content: true,
  created_at: true,
};

/** Reads a message that fits the schema. A message with an unknown role is read as one of the user, with a warning. */
export function readSavedMessage(message: JsonObject, place: Place): SavedMessage {
  const fields: Partial<SavedMessage> = knownFields(message, FIELDS, place);
  return toSavedMessage({ ...fields, role: readRole(message, place) });
}

function readRole(message: JsonObject, { path, warnings }: Place): SavedRole {
  const role = ownMember(message, 'role');
  if (isRole(role)) return role;
  warnings.push(`${path}.role is ${shortJson(role)}, which is unknown: the message is read as one of the user`);
  return 'user';
}

function isRole(role: JsonValue | undefined): role is SavedRole {
  return SAVED_ROLES.some((one) => one === role);
}

/** Lists what does not fit the role of a message. An empty text is content: a tool may return nothing. */
export function roleProblems(message: JsonValue, path: string): JsonProblem[] {
  if (!isJsonObject(message)) return [];
  const role = ownMember(message, 'role');
  const hasCallId = (ownMember(message, 'tool_call_id') ?? '') !== '';
  const hasContent = (ownMember(message, 'content') ?? null) !== null;
  const problems: JsonProblem[] = [];
  if (role === 'tool' && !hasCallId) problems.push({ path, message: 'tool_call_id is required for tool messages' });
  if (role !== 'tool' && hasCallId) problems.push({ path, message: 'tool_call_id is only allowed for tool messages' });
  if (role !== 'assistant' && !hasContent) problems.push({ path, message: 'content is required, except for assistants' });
  return problems;
}
