import type { RunContext } from '../../src/define/context.ts';

/** A call's context with default values, whose functions do nothing. */
export function fakeContext(changes: Partial<RunContext> = {}): RunContext {
  const ignore = (): void => undefined;
  return {
    deps: { userId: 'u1' },
    resources: {},
    secret: (named) => Promise.reject(new Error(`There is no secret ${JSON.stringify(named)} here`)),
    retry: 0,
    usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0, llmCalls: 0 },
    agent: 'bot',
    principal: { user: 'u1' },
    userId: 'u1',
    sessionId: undefined,
    runId: 'run-1',
    step: 1,
    callId: 'c1',
    idempotencyKey: 'run-1/e1/0',
    signal: new AbortController().signal,
    state: {},
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    events: () => Promise.reject(new Error('There is no record here')),
    setState: ignore,
    heartbeat: ignore,
    emit: ignore,
    ...changes,
  };
}
