import { callable, runHooks } from '../../../../activities/hooks/hooks.ts';
import { type AnyHook, defineHook, type HookAnswer } from '../../../../src/define/hooks.ts';
import { HOOK_EVENTS, type HookEvent, isBlocking } from '../../../../src/core/domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, object, only } from '../fields.ts';

/** Operation `hooks.run`: the hooks of one event. */
export const hooksRun: Operation = { input: ['event', 'hooks', 'payload'], expect: ['result', 'ran'], perform };

async function perform({ event, hooks, payload }: JsonObject): Promise<JsonObject> {
  const on = eventOf(event);
  const never = new AbortController().signal;
  const context = {
    runId: 'r',
    agent: 'a',
    deps: () => Promise.resolve({}),
    principal: () => Promise.resolve({}),
    events: () => Promise.resolve({ events: [], firstOffset: 0, total: 0 }),
    resources: () => Promise.resolve({}),
    signal: never,
  };
  const defined = list(hooks).map((hook, index) => callable(toHook(on, hook, index), () => context, never));
  const { tool_name: toolName, ...rest } = object(payload ?? {});
  const outcome = await runHooks({ on, payload: { ...rest, ...(toolName === undefined ? {} : { toolName }) } }, defined);
  const { result, changes } = outcome;
  if (result.type === 'deny') return { result: result.text === undefined ? 'deny' : { deny: result.text }, ran: outcome.ran };
  return { result: changes === undefined ? 'allow' : { modify: changes }, ran: outcome.ran };
}

const KEYS = ['returns', 'throws', 'matcher', 'priority', 'fail_closed', 'name'];

/** Returns the hooks of an agent: a list of hooks that each name their event, or lists by event. */
export function toHooks(hooks: JsonValue | undefined): AnyHook[] {
  const given = isJsonObject(hooks)
    ? Object.entries(hooks).flatMap(([event, ofEvent]) => list(ofEvent).map((hook) => ({ event, ...object(hook) })))
    : list(hooks).map((hook) => object(hook));
  return given.map(({ event, ...hook }, index) => toHook(eventOf(event), hook, index));
}

function eventOf(event: JsonValue | undefined): HookEvent {
  const on = HOOK_EVENTS.find((one) => one === event);
  if (on === undefined) throw new CaseProblem(`There is no event ${JSON.stringify(event)}`);
  return on;
}

function toHook(on: HookEvent, hook: JsonValue, index: number): AnyHook {
  const { returns, throws, matcher, priority, fail_closed: failClosed, name = `hook-${index}` } = only('A hook', hook, KEYS);
  return defineHook({
    name: typeof name === 'string' ? name : JSON.stringify(name),
    on,
    ...(matcher === undefined || matcher === null ? {} : { match: match(matcher) }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    // The product refuses it where a deny means nothing, which has no effect either.
    ...(failClosed === true && isBlocking(on) ? { failClosed } : {}),
    run: () => {
      if (throws !== undefined) throw new Error(typeof throws === 'string' ? throws : JSON.stringify(throws));
      return returns as HookAnswer;
    },
  });
}

/** Translates a matcher. A predicate is written as the fields that it asks for. */
function match(matcher: JsonValue): string | RegExp | ((payload: object) => boolean) {
  if (typeof matcher === 'string') return matcher;
  if (isJsonObject(matcher) && typeof matcher['$regex'] === 'string') return new RegExp(matcher['$regex']);
  if (isJsonObject(matcher) && isJsonObject(matcher['$predicate'])) {
    const asked = Object.entries(matcher['$predicate']);
    return (payload) => {
      const fields = new Map<string, unknown>(Object.entries(payload));
      return asked.every(([key, value]) => fields.get(key === 'tool_name' ? 'toolName' : key) === value);
    };
  }
  throw new CaseProblem(`There is no matcher ${JSON.stringify(matcher)}`);
}
