// Programs: outputs that an earlier execution has moved to the payload store.

import type { JsonValue } from '../../../domain/json.ts';
import type { StoredOutput } from '../../../domain/program-run.ts';
import type { StepError } from '../../../domain/verdicts.ts';
import { newStepError } from '../../errors/step-error.ts';
import { addressText, type StepAddress } from '../../state/address.ts';
import type { LoadOutcome } from '../program-ports.ts';
import type { ProgramRun } from '../program-run.ts';
import { neededAddresses } from '../values.ts';

/**
 * The most bytes of outputs that one execution loads. They are part of its history, which may have 50 MB, and may take twice as many
 * bytes there.
 */
export const MAX_LOADED_BYTES = 16_000_000;

/** The reason why outputs are not loaded: the run stops first, or the step that needs them fails. */
export type NotLoaded = { type: 'stopped' } | { type: 'failed'; error: StepError };

/** Loads the outputs that the references of a value at a step need, unless the run has them. Undefined once it has all of them. */
export function loadNeeded(run: ProgramRun, at: StepAddress, value: JsonValue): Promise<NotLoaded | undefined> | undefined {
  return loadOutputs(run, at, neededAddresses(run.program, at, value));
}

/** Does the same for outputs by the address of their step. Returns at once if there is nothing to load. */
export function loadOutputs(run: ProgramRun, by: StepAddress, addresses: readonly string[]): Promise<NotLoaded | undefined> | undefined {
  const stored = addresses.flatMap((address): StoredOutput[] => {
    const { output, spilled, outputId: id } = run.program.steps.get(address) ?? {};
    return output !== undefined || spilled === undefined || id === undefined ? [] : [{ address, id, spilled }];
  });
  if (stored.length === 0) return undefined;
  return loadStored(run, by, stored, ({ address }, value) => {
    const state = run.program.steps.get(address);
    if (state !== undefined) state.output = value;
  });
}

/**
 * Loads outputs, all at once. The run goes on in its next execution instead if this one has no room for them; the next begins with
 * them.
 */
export async function loadStored(
  run: ProgramRun,
  by: StepAddress,
  stored: readonly StoredOutput[],
  take: (stored: StoredOutput, value: JsonValue) => void,
): Promise<NotLoaded | undefined> {
  if (run.stop !== undefined && run.stop.type !== 'limit') return { type: 'stopped' };
  const begun = stored.filter(({ id }) => !run.loads.has(id));
  const bytes = begun.reduce((sum, { spilled }) => sum + spilled.bytes, 0);
  const isOver = run.loadedBytes + bytes > MAX_LOADED_BYTES;
  if (begun.length > 0 && run.stop === undefined && run.ports.continueDue({ events: 6 * begun.length, bytes: isOver ? Infinity : bytes })) {
    run.stopBecause({ type: 'continue' });
    return { type: 'stopped' };
  }
  if (isOver) {
    const message = `it needs ${bytes} bytes of stored outputs, and one execution loads at most ${MAX_LOADED_BYTES}: make them smaller`;
    return { type: 'failed', error: failure(by, 'payload_too_large', message) };
  }
  run.loadedBytes += bytes;
  const outcomes = await Promise.all(stored.map((one) => load(run, one)));
  for (const [index, outcome] of outcomes.entries()) {
    const one = stored[index];
    if (outcome.type === 'loaded' && one !== undefined) take(one, outcome.value);
  }
  const failed = outcomes.find((outcome) => outcome.type === 'failed');
  if (failed !== undefined) return { type: 'failed', error: failure(by, failed.code, failed.message) };
  return outcomes.some(({ type }) => type === 'cancelled') ? { type: 'stopped' } : undefined;
}

/** Loads one output. Steps side by side that need the same one wait for the same activity. */
function load(run: ProgramRun, stored: StoredOutput): Promise<LoadOutcome> {
  const known = run.loads.get(stored.id);
  if (known !== undefined) return known;
  const loading = run.ports.loadOutput(stored);
  run.loads.set(stored.id, loading);
  return loading;
}

function failure(by: StepAddress, code: StepError['code'], message: string): StepError {
  const name = by.step === '' ? (by.unit === '' ? 'The output of the program' : `Unit "${by.unit}"`) : `Step "${addressText(by)}"`;
  return newStepError(code, `${name} lacks an output that it refers to: ${message}`, { step: by.step, unit: by.unit });
}
