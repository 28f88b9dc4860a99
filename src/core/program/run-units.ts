import { defined } from '../domain/defined.ts';
import type { UnitDocument } from '../domain/program-document.ts';
import type { UnitState } from '../domain/program-run.ts';
import { isoTime } from '../domain/time.ts';
import type { StepError } from '../domain/verdicts.ts';
import { type ProgramRun, recordNote } from './program-run.ts';
import { conditionHolds, lookupAt } from './references.ts';
import { loadNeeded } from './stored-outputs.ts';

// Programs: units, in their order or as a graph.

/** Runs all units. Without any `needs` they run in order; otherwise each runs once those that it needs have ended. */
export async function runUnits(run: ProgramRun): Promise<void> {
  const { units } = run.program.document;
  const isGraph = units.some(({ needs }) => needs !== undefined);
  const ends = new Map<string, Promise<void>>();
  let before: Promise<void> = Promise.resolve();
  for (const unit of units) {
    const needed = unit.needs ?? [];
    // A unit may need one that stands after it: its promise is looked up once all of them exist.
    const end = isGraph ? Promise.resolve().then(() => Promise.all(needed.map(async (name) => ends.get(name)))) : before;
    before = end.then(() => runUnit(run, unit, needed));
    ends.set(unit.name, before);
  }
  await Promise.all(ends.values());
}

async function runUnit(run: ProgramRun, unit: UnitDocument, needed: readonly string[]): Promise<void> {
  const known = run.program.units.get(unit.name);
  if (known !== undefined && known.status !== 'running') return;
  // A unit may hold a child that is running: its end is waited for also if the run stops.
  if (run.stop !== undefined && known === undefined) return;
  run.budget.lanes += 1;
  await runOpenUnit(run, unit, { needed, known });
  run.budget.lanes -= 1;
}

async function runOpenUnit(
  run: ProgramRun,
  unit: UnitDocument,
  { needed, known }: { needed: readonly string[]; known: UnitState | undefined },
): Promise<void> {
  const { program, ports } = run;
  if (known === undefined && unit.when !== undefined && needed.every((name) => program.units.get(name)?.status === 'completed')) {
    const unloaded = await loadNeeded(run, { unit: unit.name, step: '', indexes: [] }, { of: unit.when.of });
    if (unloaded !== undefined) return unloaded.type === 'stopped' ? undefined : failToBegin(run, unit, unloaded.error);
  }
  const state: UnitState = known ?? { status: 'running', startedAt: ports.now() };
  if (known === undefined) {
    program.units.set(unit.name, state);
    recordNote(run, { at: unit.name, kind: 'unit', type: 'start' });
    const reason = reasonToSkip(run, unit, needed);
    if (reason !== undefined) return endUnit(run, unit, state, { status: 'skipped', reason });
  }
  const end = await run.runSteps({ unit: unit.name, steps: unit.steps, indexes: [] });
  if (end === 'stopped') return;
  const error =
    end === 'failed'
      ? unit.steps.map(({ name }) => program.steps.get(`${unit.name}.${name}`)).find((step) => step?.status === 'failed')?.error
      : undefined;
  endUnit(run, unit, state, { status: end, ...defined({ error }) });
}

/** Records the failure of a unit whose condition refers to an output that could not be loaded. */
function failToBegin(run: ProgramRun, unit: UnitDocument, error: StepError): void {
  const state: UnitState = { status: 'running', startedAt: run.ports.now() };
  run.program.units.set(unit.name, state);
  recordNote(run, { at: unit.name, kind: 'unit', type: 'start' });
  endUnit(run, unit, state, { status: 'failed', error });
}

/** Returns the reason why a unit is skipped: one that it needs has not completed, or its condition does not hold. */
function reasonToSkip({ program }: ProgramRun, unit: UnitDocument, needed: readonly string[]): string | undefined {
  const missing = needed.find((name) => program.units.get(name)?.status !== 'completed');
  if (missing !== undefined)
    return `it needs unit "${missing}", which ${program.units.get(missing)?.status === 'failed' ? 'failed' : 'was skipped'}`;
  if (unit.when === undefined) return undefined;
  const holds = conditionHolds(unit.when, lookupAt(program, { unit: unit.name, step: '', indexes: [] }));
  return holds ? undefined : `the condition on "${unit.when.of}" does not hold`;
}

function endUnit(run: ProgramRun, { name }: UnitDocument, state: UnitState, end: Partial<UnitState> & Pick<UnitState, 'status'>): void {
  Object.assign(state, end, { endedAt: run.ports.now() });
  const { status, error, reason, startedAt } = state;
  recordNote(run, {
    at: name,
    kind: 'unit',
    type: 'end',
    startedAt: isoTime(startedAt),
    ...(status === 'running' ? {} : { status }),
    ...defined({ error, reason }),
  });
  run.ports.recorded?.(run.state);
}
