import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { type HookEvent, isBlocking } from '../../src/core/domain/hooks/hook-event.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import type { ReadAnswer } from './hook-answer.ts';

/** A hook that is ready to be called: the means of calling it are the caller's. */
export interface CallableHook {
  name: string;
  match?: string | RegExp | ((payload: JsonObject) => unknown);
  priority: number;
  failClosed: boolean;
  /** Returns its answer. May reject: that is a failure of the hook. */
  ask: (payload: JsonObject) => Promise<ReadAnswer>;
}

/** The outcome of all hooks of one event. */
export interface HooksOutcome {
  /** `deny` only for events that a hook can deny. */
  result: { type: 'allow' } | { type: 'deny'; hook: string; text?: string };
  /** The changes of all hooks, merged: what the run uses. Absent: none. */
  changes?: JsonObject;
  /** The texts that the model reads. */
  injected: string[];
  /** The first question: the call waits for a decision. */
  ask?: { hook: string; text: string };
  /** The names of the hooks that were called, in order. */
  ran: string[];
  /** The answers that were not a plain allow. */
  records: HookRecord[];
}

/** The event, and the rule of its changes. */
export interface HookedEvent {
  on: HookEvent;
  payload: JsonObject;
  /** Returns why the changes of a hook cannot be used, which is a failure of that hook. Default: all can. */
  problemOf?: (changes: JsonObject) => string | undefined;
  callId?: string;
}

/**
 * Calls the hooks of an event by priority, one after the other; each sees the changes of those before. The first deny ends the
 * chain of an event that can be denied, and counts for nothing at any other. Never rejects.
 */
export async function runHooks({ on, payload, problemOf, callId }: HookedEvent, hooks: readonly CallableHook[]): Promise<HooksOutcome> {
  const outcome: HooksOutcome = { result: { type: 'allow' }, injected: [], ran: [], records: [] };
  const record = (hook: string, fields: Pick<HookRecord, 'answer' | 'text' | 'denied'>): void => {
    outcome.records.push({ hook, on, ...fields, ...(callId === undefined ? {} : { callId }) });
  };
  for (const hook of hooks.toSorted((one, other) => one.priority - other.priority)) {
    const answer = await answerOf(hook, { ...payload, ...outcome.changes }, problemOf);
    if (answer === undefined) continue;
    outcome.ran.push(hook.name);
    switch (answer.type) {
      case 'allow':
        break;
      case 'modify':
        outcome.changes = { ...outcome.changes, ...answer.changes };
        record(hook.name, { answer: 'modify' });
        break;
      case 'inject':
        outcome.injected.push(answer.text);
        record(hook.name, { answer: 'inject', text: answer.text });
        break;
      case 'ask':
        outcome.ask ??= { hook: hook.name, text: answer.text };
        record(hook.name, { answer: 'ask', text: answer.text });
        break;
      default: {
        const isFailure = answer.type === 'failed';
        const denies = isBlocking(on) && (!isFailure || hook.failClosed);
        record(hook.name, { answer: answer.type, ...textOf(answer.text), ...(isFailure && denies ? { denied: true as const } : {}) });
        if (!denies) break;
        const text = isFailure ? `hook errored (fail_closed): ${answer.text}` : answer.text;
        return { ...outcome, result: { type: 'deny', hook: hook.name, ...textOf(text) } };
      }
    }
  }
  return outcome;
}

function textOf(text: string | undefined): { text?: string } {
  return text === undefined ? {} : { text };
}

/** Returns the answer of a hook; undefined if it does not match. */
async function answerOf(hook: CallableHook, payload: JsonObject, problemOf: HookedEvent['problemOf']): Promise<ReadAnswer | undefined> {
  try {
    if (!(await matches(hook.match, payload))) return undefined;
    // A hook that changes its argument must not change that of the next one.
    const answer = await hook.ask(structuredClone(payload));
    const problem = answer.type === 'modify' ? problemOf?.(answer.changes) : undefined;
    return problem === undefined ? answer : { type: 'failed', text: problem };
  } catch (error) {
    return { type: 'failed', text: errorMessage(error) };
  }
}

async function matches(match: CallableHook['match'], payload: JsonObject): Promise<boolean> {
  if (match === undefined) return true;
  if (typeof match === 'function') return (await match(structuredClone(payload))) === true;
  const subject: JsonValue | undefined = payload['toolName'] ?? payload['agent'];
  if (typeof subject !== 'string') return false;
  if (typeof match === 'string') return match === subject;
  // A regular expression with the flag "g" or "y" remembers where it stopped.
  return new RegExp(match.source, match.flags.replaceAll(/[gy]/g, '')).test(subject);
}
