import { END_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import type { AtEndInput, CallHooksOutput } from '../../src/core/domain/hooks/hook-messages.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from '../run-queries/access.ts';
import { type HookScope, runEventHooks } from './event-hooks.ts';

/** Calls the hooks at the end of a run, with its whole output. */
export async function callHooksAtEnd(scope: HookScope, { status, stopReason }: AtEndInput): Promise<CallHooksOutput> {
  const result = await queryRun<RunResultFields | null>(scope.run, QUERIES.result, null);
  const payload = { status, stopReason, output: result?.output ?? null };
  const hooks: HookRecord[] = [];
  for (const on of END_EVENTS) {
    const { records } = await runEventHooks(scope, { on, payload, problemOf: () => 'a run that has ended cannot be modified' });
    hooks.push(...records);
  }
  return { hooks };
}
