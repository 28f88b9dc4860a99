import type { ApprovalView } from '../../../core/domain/approvals/approval.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/domain/json/json.ts';

/** A decision as it was entered: about the call, or about how to go on asking. */
export type EnteredDecision =
  | { type: 'approve'; arguments?: JsonObject }
  | { type: 'reject'; reason?: string }
  | { type: 'respond'; content: JsonValue }
  | { type: 'edit' }
  | { type: 'unclear'; say: string };

/** Returns the question about a pending call, as a prompt. */
export function decisionPrompt({ kind }: Pick<ApprovalView, 'kind'>): string {
  switch (kind) {
    case 'question':
      return 'Your answer: ';
    case 'outcome':
      return 'What has become of the call? (n and a reason: give it up) ';
    case 'limit':
      return 'Raise the limit? (y, n, n and a reason, e to edit) ';
    case 'tool':
      return 'Run it? (y, n, n and a reason, e to edit) ';
  }
}

/** Returns the decision that a line means. Only an explicit yes approves a call. */
export function readDecision(line: string, { kind, answer }: Pick<ApprovalView, 'kind' | 'answer'>): EnteredDecision {
  const text = line.trim();
  if (kind === 'question') return readAnswer(text, answer);
  const [, no, reason = ''] = /^(n|no)(?:[\s,:]+(.+))?$/i.exec(text) ?? [];
  if (no !== undefined) return reason === '' ? { type: 'reject' } : { type: 'reject', reason };
  if (kind === 'outcome')
    return text === '' ? { type: 'unclear', say: 'Write the result that the model is to read.' } : { type: 'respond', content: text };
  if (/^(y|yes)$/i.test(text)) return { type: 'approve' };
  if (/^(e|edit)$/i.test(text)) return { type: 'edit' };
  return { type: 'unclear', say: 'Write y to run it, n or n and a reason to reject it, or e to edit its arguments.' };
}

/** Returns the answer to a question: text, or JSON if the schema of the answer says so. */
function readAnswer(text: string, schema: JsonObject | undefined): EnteredDecision {
  if (text === '') return { type: 'unclear', say: 'Write an answer.' };
  const type = schema?.['type'];
  if (type === undefined || type === 'string') return { type: 'respond', content: text };
  const value = parsed(text);
  return value === undefined
    ? { type: 'unclear', say: `Write the answer as JSON of type ${JSON.stringify(type)}.` }
    : { type: 'respond', content: value };
}

/** Returns the decision for arguments that were entered as JSON. */
export function readArguments(line: string): EnteredDecision {
  const value = parsed(line);
  if (isJsonObject(value)) return { type: 'approve', arguments: value };
  return { type: 'unclear', say: 'That is no JSON object: the call still waits.' };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
