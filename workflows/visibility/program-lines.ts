import { oneLine } from '../../src/core/domain/content/text.ts';
import type { ProgramState, StepState, UnitState } from '../../src/core/domain/program/program-state.ts';

/** Byte limits: the Temporal UI sends the details in a URL, so they are kept short. */
const ERROR_BYTES = 300;

/** The units, and the running or failed steps of one unit, that are shown. */
const SHOWN_UNITS = 20;
const SHOWN_STEPS = 5;

/** Returns the units of a program, with the steps of each that run or have failed, and the children that wait for a person. */
export function unitLines({ document, units, steps }: ProgramState, waitingChildren: readonly string[]): string[] {
  const open = openSteps(steps);
  // The first units that have not begun say little: those that have come first.
  const begun = document.units.filter(({ name }) => units.has(name));
  const waiting = document.units.filter(({ name }) => !units.has(name));
  const listed = [...begun.slice(-SHOWN_UNITS), ...waiting.slice(0, Math.max(0, SHOWN_UNITS - begun.length))];
  const hidden = document.units.length - listed.length;
  return [
    '',
    '**Units**',
    '',
    ...listed.flatMap(({ name }) => [unitLine(name, units.get(name)), ...stepLines(open.get(name) ?? [], waitingChildren)]),
    ...(hidden === 0 ? [] : [`- and ${hidden} more`]),
  ];
}

/** Returns the steps that run or have failed, by their unit. A program may have thousands of steps that have ended. */
function openSteps(steps: ReadonlyMap<string, StepState>): Map<string, [name: string, StepState][]> {
  const open = new Map<string, [string, StepState][]>();
  for (const [at, state] of steps) {
    if (state.status !== 'running' && state.status !== 'failed') continue;
    const dot = at.indexOf('.');
    const unit = at.slice(0, dot);
    const list = open.get(unit) ?? [];
    list.push([at.slice(dot + 1), state]);
    open.set(unit, list);
  }
  return open;
}

function unitLine(name: string, state: UnitState | undefined): string {
  if (state === undefined) return `- **${name}** not started`;
  const { status, reason, startedAt, endedAt } = state;
  const took = endedAt === undefined || status === 'skipped' ? '' : ` in ${seconds(endedAt - startedAt)}`;
  return `- **${name}** ${status}${took}${reason === undefined ? '' : `: ${shown(reason)}`}`;
}

function stepLines(steps: readonly [name: string, StepState][], waitingChildren: readonly string[]): string[] {
  const hidden = steps.length - SHOWN_STEPS;
  return [
    ...steps.slice(0, SHOWN_STEPS).map(([name, state]) => `  - \`${name}\` ${stepText(state, waitingChildren)}`),
    ...(hidden <= 0 ? [] : [`  - and ${hidden} more`]),
  ];
}

function stepText({ status, attempts, rounds, error, progress }: StepState, waitingChildren: readonly string[]): string {
  const attempt = attempts > 1 ? `, attempt ${attempts}` : '';
  const round = rounds === undefined ? '' : `, round ${rounds}`;
  const failure = error ?? progress?.failure?.error;
  const why = failure === undefined ? '' : `: ${status === 'running' ? 'the attempt before failed: ' : ''}${shown(failure.message)}`;
  const child = status !== 'running' || progress?.child === undefined ? '' : childText(progress.child.runId, waitingChildren);
  return `${status}${attempt}${round}${child}${why}`;
}

function childText(runId: string, waitingChildren: readonly string[]): string {
  return `, run \`${runId}\`${waitingChildren.includes(runId) ? ' waits for a person' : ''}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)}s`;
}

/** Returns free text on one line. The UI renders text between two dollar signs as a formula. */
function shown(text: string): string {
  return oneLine(text, ERROR_BYTES).replaceAll('$', '&#36;');
}
