import { counted } from '../content/text.ts';

/**
 * The reasons why a call did not run, in the words of summaries. `refused`: a person, a permission, a guardrail or a hook said no.
 * `answered`: a person gave the result. `unknown`: there is no such tool. `invalid`: the arguments do not fit. `not_started`: the run
 * ended or was told something else before, a limit had no room for it, or nothing implements the tool.
 */
export const NOT_RUN = {
  refused: 'refused',
  answered: 'answered by a person',
  unknown: 'unknown',
  invalid: 'invalid',
  not_started: 'not started',
} as const;

/** The reason why a call did not run. */
export type NotRun = keyof typeof NOT_RUN;

/** The number of calls that did not run, by reason and by the name of the tool. */
export type CallsNotRun = Partial<Record<NotRun, Record<string, number>>>;

/** The calls of a run: those that its tools executed, and those that did not run. */
export interface CallCounts {
  toolCallsTotal: number;
  toolCallsByName: Record<string, number>;
  toolCallsNotRun?: CallsNotRun | undefined;
}

/** Returns the number of calls that the model asked for. */
export function requestedCalls({ toolCallsTotal, toolCallsNotRun = {} }: Omit<CallCounts, 'toolCallsByName'>): number {
  const notRun = Object.values(toolCallsNotRun).flatMap((byName) => Object.values(byName));
  return notRun.reduce((sum, calls) => sum + calls, toolCallsTotal);
}

/** The form of a text about calls. */
export interface CallsForm {
  /** The sign before a number of calls. */
  times: string;
  /** The text for no call. */
  none?: string;
  /** The words behind the number of all calls, for every number; none if empty. Default: `tool call` or `tool calls`. */
  unit?: string;
  name?: (name: string) => string;
}

/** Returns all calls in words: `2 tool calls (look_up ×2), 1 refused (refund)`. */
export function callsText({ toolCallsTotal, toolCallsByName, toolCallsNotRun }: CallCounts, { none, unit, ...form }: CallsForm): string {
  const names = namesText(toolCallsByName, form, 1) || none;
  const number = unit === undefined ? counted(toolCallsTotal, 'tool call') : `${toolCallsTotal} ${unit}`.trimEnd();
  const total = `${number}${names === undefined ? '' : ` (${names})`}`;
  return [total, ...notRunTexts(toolCallsNotRun, form)].join(', ');
}

/** Returns the calls that did not run in words, a text for each reason: `1 refused (refund)`. */
export function notRunTexts(notRun: CallsNotRun = {}, form: Omit<CallsForm, 'none' | 'unit'>): string[] {
  return (Object.keys(NOT_RUN) as NotRun[]).flatMap((reason) => {
    const byName = notRun[reason] ?? {};
    const total = Object.values(byName).reduce((sum, calls) => sum + calls, 0);
    return total === 0 ? [] : [`${total} ${NOT_RUN[reason]} (${namesText(byName, form, 2)})`];
  });
}

/** Returns the names with their numbers of calls, from a number on. */
function namesText(
  byName: Record<string, number>,
  { times, name = (given) => given }: Omit<CallsForm, 'none' | 'unit'>,
  from: number,
): string {
  return Object.entries(byName)
    .map(([given, calls]) => (calls < from ? name(given) : `${name(given)}${times}${calls}`))
    .join(', ');
}

/** Returns the sum of two counts of calls that did not run. Undefined if both are empty. */
export function addNotRun(one: CallsNotRun | undefined, other: CallsNotRun | undefined): CallsNotRun | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const sum: CallsNotRun = {};
  for (const reason of Object.keys(NOT_RUN) as NotRun[]) {
    // A map, because models invent names such as `__proto__`.
    const byName = new Map(Object.entries(one[reason] ?? {}));
    for (const [name, calls] of Object.entries(other[reason] ?? {})) byName.set(name, (byName.get(name) ?? 0) + calls);
    if (byName.size > 0) sum[reason] = Object.fromEntries(byName);
  }
  return sum;
}
