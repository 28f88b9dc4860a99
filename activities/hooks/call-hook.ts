import type { AnyHook, HookContext } from '../../src/define/hooks/hook-definition.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { askCommand } from './command-hook.ts';
import { type ReadAnswer, readAnswer } from './hook-answer.ts';
import type { CallableHook } from './run-hooks.ts';

/** Prepares a hook to be called within its time, with the context that `contextOf` makes for a signal. */
export function callable(hook: AnyHook, contextOf: (signal: AbortSignal) => HookContext, cancelled: AbortSignal): CallableHook {
  const { name, match, priority, failClosed, timeoutMs } = hook;
  return {
    name,
    ...(match === undefined ? {} : { match: match as NonNullable<CallableHook['match']> }),
    priority,
    failClosed,
    ask: (payload) => inTime(timeoutMs, cancelled, (signal) => ask(hook, payload, contextOf(signal), signal)),
  };
}

async function ask({ run, command, on }: AnyHook, payload: JsonObject, context: HookContext, signal: AbortSignal): Promise<ReadAnswer> {
  if (command !== undefined) return askCommand(command, on, payload, signal);
  return readAnswer(await run?.(payload as never, context));
}

/** Rejects when the time is up, also if the work does not heed its signal. */
async function inTime<Result>(timeoutMs: number, cancelled: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const timeUp = new AbortController();
  const signal = AbortSignal.any([timeUp.signal, cancelled]);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => timeUp.abort(new Error(`it gave no answer within ${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    if (signal.aborted) reject(signal.reason as Error);
  });
  try {
    return await Promise.race([work(signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
