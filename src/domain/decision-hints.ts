import type { ApprovalView } from './approval.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { shellCommand } from './shell-command.ts';

/** The commands that decide about what waits, to copy. `more`: options that all of them need. */
export function decisionHints(
  runId: string,
  { kind, callId, answer }: Pick<ApprovalView, 'kind' | 'callId' | 'answer'>,
  more: readonly string[] = [],
): string[] {
  const hint = (command: string, ...options: string[]): string =>
    shellCommand(command, { operands: [runId, callId], options: [...options, ...more] });
  if (kind === 'outcome') return [hint('respond', '--text', '…'), hint('reject', '--reason', '…')];
  if (kind === 'question') return [hint('respond', ...answerOptions(answer))];
  return [hint('approve'), hint('reject', '--reason', '…')];
}

/** How an answer is written that fits the schema: as text, or as JSON with the names of its members. */
function answerOptions(schema: JsonObject | undefined): [string, string] {
  const type = schema?.['type'];
  if (type === undefined || type === 'string') return ['--text', '…'];
  const members = schema?.['properties'];
  if (type !== 'object' || !isJsonObject(members)) return ['--value', '…'];
  return ['--value', JSON.stringify(Object.fromEntries(Object.keys(members).map((name) => [name, '…'])))];
}
