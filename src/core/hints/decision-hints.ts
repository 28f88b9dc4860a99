import type { ApprovalView } from '../domain/approvals/approval.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { shellCommand } from './shell-command.ts';

/**
 * Returns the commands that decide a pending approval, to copy into a shell. `options` are added to each; `program` is the name of
 * the command line.
 */
export function decisionHints(
  runId: string,
  { kind, callId, answer }: Pick<ApprovalView, 'kind' | 'callId' | 'answer'>,
  { options: more = [], program }: { options?: readonly string[]; program?: string | undefined } = {},
): string[] {
  const hint = (command: string, ...options: string[]): string =>
    shellCommand(command, { operands: [runId, callId], options: [...options, ...more], program });
  if (kind === 'outcome') return [hint('respond', '--text', '…'), hint('reject', '--reason', '…')];
  if (kind === 'question') return [hint('respond', ...answerOptions(answer))];
  return [hint('approve'), hint('reject', '--reason', '…')];
}

/** Returns the options that give an answer: as text, or as JSON with the names of its members if the schema requires an object. */
function answerOptions(schema: JsonObject | undefined): [string, string] {
  const type = schema?.['type'];
  if (type === undefined || type === 'string') return ['--text', '…'];
  const template = answerTemplate(schema);
  return ['--value', typeof template === 'string' ? template : JSON.stringify(template)];
}

/** Returns an answer to fill in: an object with the names of its members, or a text. */
export function answerTemplate(schema: JsonObject | undefined): JsonValue {
  const members = schema?.['properties'];
  if (schema?.['type'] !== 'object' || !isJsonObject(members)) return '…';
  return Object.fromEntries(Object.keys(members).map((name) => [name, '…']));
}
