import type { HookContext } from '../../src/define/hooks/hook-definition.ts';
import { hooksFor, type HookSnapshot } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { queryRun, runIdOf } from '../run-queries/access.ts';
import { eventsOf } from '../run-queries/events.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { callable } from './call-hook.ts';
import { type HookedEvent, type HooksOutcome, runHooks } from './run-hooks.ts';

/** The run whose hooks are called. */
export interface HookScope {
  runtime: ActivityRuntime;
  run: OfRun;
  /** The name of the agent, and the hooks of its run. */
  snapshot: { name: string; hooks?: HookSnapshot[] };
  signal: AbortSignal;
  /** Returns deps and state. Default: a query, which a local activity cannot send to its own run. */
  data?: () => Promise<DataView>;
}

/** Bytes of JSON that a text of a hook may have: it is read by the model, or recorded with the call. */
const TEXT_BYTES = 10_000;

/**
 * Calls the hooks of a run for one event. Never rejects, and repeats nothing: a hook that this worker lacks has failed. The texts of
 * the outcome are without secrets, and cut.
 */
export async function runEventHooks(scope: HookScope, event: HookedEvent): Promise<HooksOutcome> {
  const { runtime, snapshot, signal } = scope;
  const contextOf = contexts(scope);
  const hooks = hooksFor(snapshot, event.on).map((pinned) => {
    try {
      return callable(runtime.registry.hook(pinned), contextOf, signal);
    } catch (error) {
      // The activity has begun: another worker would begin it again. Without its definition the strict rule holds.
      return { name: pinned.name, priority: 0, failClosed: true, ask: () => Promise.reject(error) };
    }
  });
  if (hooks.length === 0) return { result: { type: 'allow' }, injected: [], ran: [], records: [] };
  return redacted(runtime, await runHooks(event, hooks));
}

/** Throws `MissingOnWorkerError` if this worker lacks one of these hooks, before anything is done or paid for: another worker may have it. */
export function requireHooks({ registry }: ActivityRuntime, hooks: readonly HookSnapshot[]): void {
  for (const hook of hooks) registry.hook(hook);
}

function contexts({
  runtime,
  run,
  snapshot,
  data = () => queryRun<DataView>(run, QUERIES.data, null),
}: HookScope): (signal: AbortSignal) => HookContext {
  let view: Promise<DataView> | undefined;
  const viewOnce = (): Promise<DataView> => (view ??= data());
  return (signal) => ({
    runId: runIdOf(run),
    agent: snapshot.name,
    deps: async () => Object.freeze(structuredClone((await viewOnce()).deps)),
    principal: async () => Object.freeze(structuredClone((await viewOnce()).principal ?? {})),
    events: eventsOf(run),
    resources: () => runtime.resourcePool.use(),
    signal,
  });
}

/** Secrets are redacted before a text is cut: a part of one would not be found. */
function redacted({ secrets }: ActivityRuntime, outcome: HooksOutcome): HooksOutcome {
  const clean = (text: string): string => cutText(secrets.redact(text).toWellFormed(), TEXT_BYTES);
  const { result, changes, injected, ask, records } = outcome;
  return {
    ...outcome,
    result: result.type === 'deny' && result.text !== undefined ? { ...result, text: clean(result.text) } : result,
    ...(changes === undefined ? {} : { changes: secrets.redactJson(changes) as JsonObject }),
    injected: injected.map(clean),
    ...(ask === undefined ? {} : { ask: { ...ask, text: clean(ask.text) } }),
    records: records.map((record): HookRecord =>
      record.text === undefined ? record : { ...record, text: cutText(clean(record.text), RECORD_BYTES) },
    ),
  };
}

/** Bytes of JSON of a text in a record, which is part of steps and views. */
const RECORD_BYTES = 500;
