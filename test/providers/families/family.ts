import type { OpenAIOptions } from '../../../activities/models/openai/openai.ts';
import type { ChatDialect, Failure, FailureKind } from '../answer.ts';
import type { OpaqueParts } from '../opaque-parts.ts';
import type { Finding, Rule } from '../rules.ts';
import type { SentRequest } from '../sent-request.ts';

/** One oddity of a provider: a rule about requests, and the answer to a request that breaks it. */
export interface RuleRow {
  rule: Rule;
  refused: (finding: Finding, request: SentRequest) => Failure;
}

/** A failure, and the words of it that the user must be able to read. */
export interface WordedFailure extends Failure {
  says: string;
}

/** A family of providers: what its servers refuse, what they say, and how its users reach them. */
export interface Family {
  name: string;
  /** As its users write it. Requests to it are answered by the fake. */
  baseURL: string;
  options?: Omit<OpenAIOptions, 'baseURL' | 'apiKey' | 'headers'>;
  model: string;
  /** Another model of the same servers. */
  otherModel: string;
  api: 'chat' | 'responses';
  dialect: ChatDialect;
  /** The parts of its answers that must be sent back. */
  opaque?: OpaqueParts;
  /** The first rule that a request breaks decides. */
  rules: readonly RuleRow[];
  failures: Readonly<Record<FailureKind, WordedFailure>>;
  /**
   * The refusals that a conversation may meet before its requests fit the rules: each is a rule that cannot be known before. None for
   * servers whose rules are documented for all of their models.
   */
  learns: number;
}

/** Returns the row of a rule whose refusal differs by its text alone. */
export function row(rule: Rule, refused: RuleRow['refused']): RuleRow {
  return { rule, refused };
}

/** An error as OpenAI sends it, and most servers after it. */
export function openaiError(
  status: number,
  message: string,
  {
    type = 'invalid_request_error',
    code = null,
    param = null,
  }: { type?: string; code?: string | number | null; param?: string | null } = {},
): WordedFailure {
  return { status, body: { error: { message, type, param, code } }, says: message };
}
