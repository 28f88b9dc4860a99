import { isDeepStrictEqual } from 'node:util';
import { messageOf, type CellProvider, type ScriptEntry } from './fake-provider.ts';
import type { Conversation, Outcome } from './conversation.ts';
import type { Family } from './families/family.ts';

/** What a verdict is about, besides the outcome. */
export interface Judged {
  family: Family;
  conversation: Conversation;
  provider: CellProvider;
  script: readonly ScriptEntry[];
}

/** Returns what does not hold: of the expectation, and of what must hold after any conversation. */
export function problemsOf(outcome: Outcome, judged: Judged): string[] {
  const { conversation, family } = judged;
  return [
    ...endProblems(outcome, judged),
    ...ranProblems(outcome, judged),
    ...requestProblems(outcome, judged),
    ...historyProblems(outcome),
    conversation.expect.check?.(outcome, family),
  ].filter((problem) => problem !== undefined);
}

function endProblems({ result, turns, exchanged }: Outcome, { conversation, script, family }: Judged): (string | undefined)[] {
  const { expect } = conversation;
  if (expect.orTruthfulError === true && isTruthful(result.error, exchanged)) return [];
  const { status = 'completed', code, says } = expect;
  const error = result.error ?? turns.find((turn) => turn.error !== null)?.error ?? '';
  const problems: (string | undefined)[] = [];
  if (result.status !== status) problems.push(`status ${result.status}, expected ${status}${error === '' ? '' : `: ${error}`}`);
  if (code !== undefined && !([code].flat() as string[]).includes(result.errorCode ?? '')) {
    problems.push(`error code ${result.errorCode ?? 'none'}, expected ${[code].flat().join(' or ')}`);
  }
  if (says !== undefined && !error.includes(says(family))) problems.push(`the error does not say ${quote(says(family))}: ${quote(error)}`);
  if (expect.turns !== undefined) {
    const outputs = turns.map((turn) => (turn.status === 'completed' ? turn.output : turn.status));
    if (!isDeepStrictEqual(outputs, expect.turns)) {
      const errors = turns.flatMap((turn) => (turn.error === null ? [] : [turn.error]));
      problems.push(`turns ${quote(outputs)}, expected ${quote(expect.turns)}${errors.length === 0 ? '' : `: ${errors.join(' | ')}`}`);
    }
  } else if (status === 'completed' && result.status === 'completed' && expect.anyOutput !== true) {
    const output = 'output' in expect ? expect.output : lastText(script);
    if (!isDeepStrictEqual(result.output, output)) problems.push(`output ${quote(result.output)}, expected ${quote(output)}`);
  }
  // An empty answer is not an answer.
  if (result.status === 'completed' && result.output === '' && turns.length === 0) problems.push('completed with an empty output');
  return problems;
}

/** True for an error that says what the provider said about the last request. */
function isTruthful(error: string | null, exchanged: Outcome['exchanged']): boolean {
  const said = exchanged.at(-1)?.refused;
  return said !== undefined && error?.includes(said) === true;
}

function lastText(script: readonly ScriptEntry[]): unknown {
  const texts = script.flatMap((entry) =>
    typeof entry === 'object' && entry.type === 'said' && entry.text !== undefined ? [entry.text] : [],
  );
  return texts.at(-1);
}

function ranProblems({ ran, result, exchanged }: Outcome, { conversation }: Judged): string[] {
  const { ran: expected = [], anyRan, orTruthfulError } = conversation.expect;
  if (anyRan === true) return [];
  if (orTruthfulError === true && ran.length === 0 && isTruthful(result.error, exchanged)) return [];
  return isDeepStrictEqual([...ran], [...expected]) ? [] : [`ran ${quote(ran)}, expected ${quote(expected)}`];
}

function requestProblems({ exchanged }: Outcome, { conversation, family, provider }: Judged): (string | undefined)[] {
  const { refusals = 0, models = 1, usedUp } = conversation.expect;
  const refused = exchanged.flatMap((one) => (one.refused === undefined ? [] : [one.refused]));
  const most = family.learns * models + refusals;
  const { entries, unplanned } = provider.leftOver;
  return [
    refused.length > most
      ? `${refused.length} requests were refused, at most ${most} may be: ${refused.slice(0, 4).join(' | ')}`
      : undefined,
    repeatedRefusal(exchanged),
    unplanned > 0 ? `${unplanned} more requests than planned` : undefined,
    usedUp !== false && conversation.expect.orTruthfulError !== true && entries > 0
      ? `${entries} replies of the script were never asked for`
      : undefined,
  ];
}

/** A request that was refused for good must not be resent unchanged. */
function repeatedRefusal(exchanged: Outcome['exchanged']): string | undefined {
  const refused = new Map<string, string>();
  for (const { request, refused: why, reply } of exchanged) {
    const before = refused.get(request.json);
    if (before !== undefined) return `a refused request was sent again unchanged: ${before}`;
    const final = reply?.type === 'status' && isFinal(reply.failure.status) ? messageOf(reply.failure) : undefined;
    if (why !== undefined || final !== undefined) refused.set(request.json, why ?? final ?? '');
  }
  return undefined;
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

/** Nothing is twice in the record or in a request. */
function historyProblems({ events, exchanged }: Outcome): (string | undefined)[] {
  // What a caller gives may be anything.
  const items = events.flatMap(({ given, content }) => (given === true ? [] : content));
  const called = items.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : []));
  const answered = items.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []));
  const said = items.flatMap((item) =>
    item.type === 'message' && typeof item.content === 'string' ? [`${item.role}: ${item.content}`] : [],
  );
  const sent =
    exchanged.at(-1)?.request.messages.flatMap(({ role, text }) => (text === '' || role === 'tool' ? [] : [`${role}: ${text}`])) ?? [];
  return [
    twice('call ids of the record', called),
    twice('results of the record', answered),
    twice('messages of the record', said),
    twice('messages of the last request', sent),
    called.length === answered.length ? undefined : `${called.length} calls and ${answered.length} results are recorded`,
  ];
}

function twice(what: string, texts: readonly string[]): string | undefined {
  const found = texts.find((text, index) => texts.indexOf(text) !== index);
  return found === undefined ? undefined : `twice among the ${what}: ${quote(found)}`;
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
