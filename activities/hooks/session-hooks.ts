import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { type HookScope, runEventHooks } from './event-hooks.ts';

/** Milliseconds that the hooks may take together: the activity that resolves the agent is bounded, and does more. */
const TOTAL_MS = 30_000;

/** The instructions of a run, with the answers of the hooks at its start. */
interface OpenedSession {
  instructions: string[];
  records: HookRecord[];
}

/** Calls the hooks at the start of a run: one may replace the instructions, or add to them. Never rejects. */
export async function openSession(scope: HookScope, instructions: string[]): Promise<OpenedSession> {
  const timed = { ...scope, signal: AbortSignal.any([scope.signal, AbortSignal.timeout(TOTAL_MS)]) };
  const { changes, injected, records } = await runEventHooks(timed, {
    on: 'session_start',
    payload: { instructions },
    problemOf: instructionsProblem,
  });
  const replaced = changes?.['instructions'];
  return { instructions: [...(isTexts(replaced) ? replaced : instructions), ...injected], records };
}

function instructionsProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'instructions');
  if (other !== undefined) return `it changes "${other}": only "instructions" can be changed at the start`;
  return isTexts(changes['instructions']) ? undefined : 'it changes "instructions" to something else than a list of texts';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
