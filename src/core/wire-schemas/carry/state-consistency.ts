import { isToolCall } from '../../domain/content/content.ts';
import { RUN_CODE } from '../../domain/content/tool-text.ts';
import { allSteps } from '../../domain/program/all-steps.ts';
import { kindOf } from '../../domain/program/document.ts';
import { pinnedStepsProblem } from '../pinned-program.ts';
import type { ContinueAsNewState } from '../../loop/state/continue-as-new-state.ts';

/**
 * Describes a contradiction between parts of a carried state that each fit the schema; undefined if there is none. The loop relies
 * on the absence of such contradictions, and no run writes one.
 */
export function inconsistency(state: ContinueAsNewState): string | undefined {
  return (
    windowProblem(state) ??
    countProblem(state) ??
    positionProblem(state) ??
    snapshotProblem(state) ??
    programProblem(state) ??
    repeatedRequest(state)
  );
}

function windowProblem({ window: { events, through } }: ContinueAsNewState): string | undefined {
  const beyond = events.find(({ offset }) => offset >= through);
  if (beyond !== undefined) return `window.events: offset ${beyond.offset} is beyond the ${through} events of the record`;
  const twice = repeated(events.map(({ offset }) => offset)) ?? repeated(events.map(({ id }) => id));
  return twice === undefined ? undefined : `window.events: two events have the offset or id "${twice}"`;
}

function countProblem({
  seenEvents,
  window,
  toolCallsTotal,
  toolCallsByName,
  toolCallsStarted = [],
  modelRetries = [],
}: ContinueAsNewState): string | undefined {
  if (seenEvents > window.through) return `seenEvents: the model has seen ${seenEvents} of ${window.through} events`;
  const sum = toolCallsByName.reduce((calls, [, more]) => calls + more, 0);
  if (sum !== toolCallsTotal) return `toolCallsTotal: ${toolCallsTotal}, and ${sum} by the names of the tools`;
  const twice = [toolCallsByName, toolCallsStarted, modelRetries].map((counts) => repeated(counts.map(([name]) => name))).find(isThere);
  return twice === undefined ? undefined : `the name "${twice}" is counted twice`;
}

function positionProblem({ position, window, code, session }: ContinueAsNewState): string | undefined {
  if (position.type === 'idle' && session === undefined) return 'position: only a session can be idle';
  if (position.type === 'idle' && session?.turn !== undefined) return 'position: a session is not idle in a turn';
  if (position.type === 'call_model' || position.type === 'idle') return undefined;
  const cell = position.type === 'run_cell' ? position : position.cell;
  if (position.type === 'run_tools' && cell !== undefined) {
    const { response, outcomes } = position;
    if (code?.calls?.id !== response.id) return `position.response: the code waits for no calls of event "${response.id}"`;
    if (outcomes.length > code.calls.content.length) return outcomesProblem(outcomes.length, code.calls.content.length);
  }
  const tools = cell === undefined ? position : cell.tools;
  if (tools.type !== 'run_tools') return undefined;
  const response = window.events.find(({ id }) => id === tools.response.id);
  if (response === undefined) return `position.response: the window has no event "${tools.response.id}"`;
  const calls = response.content.filter(isToolCall);
  if (tools.outcomes.length > calls.length) return outcomesProblem(tools.outcomes.length, calls.length);
  if (cell === undefined) return undefined;
  if (calls[cell.index]?.name !== RUN_CODE) return `position.index: call ${cell.index} runs no code`;
  const hasBegun = cell.spentMs !== undefined || position.type === 'run_tools';
  return hasBegun && (code === undefined || code.journal.cells.length === 0) ? 'code.journal: the cell in progress is missing' : undefined;
}

function outcomesProblem(outcomes: number, calls: number): string {
  return `position.outcomes: ${outcomes} outcomes of ${calls} calls`;
}

/**
 * Checks the names and the backoffs of the tools. Temporal would refuse an activity whose waits become shorter, and retry the task
 * for ever.
 */
function snapshotProblem({ snapshot: { tools } }: ContinueAsNewState): string | undefined {
  const twice = repeated(tools.map(({ name }) => name));
  if (twice !== undefined) return `snapshot.tools: two tools have the name "${twice}"`;
  const shrinking = tools.find(({ backoff }) => backoff !== undefined && backoff.maxMs < backoff.initialMs);
  return shrinking === undefined ? undefined : `snapshot.tools: the longest wait of "${shrinking.name}" is shorter than its first`;
}

/** Checks that a program has its document and its state, and that every unit and step in the state belongs to the document. */
function programProblem({ snapshot, program }: ContinueAsNewState): string | undefined {
  if (snapshot.program === undefined) return program === undefined ? undefined : 'program: the snapshot has no program';
  if (program === undefined) return 'program: the state of the program is missing';
  for (const document of [snapshot.program, ...(program.earlier === undefined ? [] : [program.earlier.document])]) {
    const problem = document.units.map(({ steps: list }) => pinnedStepsProblem(list)).find(isThere);
    if (problem !== undefined) return `program "${document.name}": ${problem}`;
  }
  const steps = new Map(allSteps(snapshot.program).map(({ unit, step }) => [`${unit.name}.${step.name}`, kindOf(step)]));
  const unknown =
    program.units.find(([name]) => !snapshot.program?.units.some((unit) => unit.name === name)) ??
    program.steps.find(([at, { kind }]) => steps.get(withoutIndexes(at)) !== kind);
  if (unknown !== undefined) return `program: "${unknown[0]}" is not in the document`;
  const unnamed = program.steps.find(([, { spilled, outputId }]) => spilled !== undefined && outputId === undefined);
  if (unnamed !== undefined) return `program: the stored output of "${unnamed[0]}" has no id`;
  const twice = repeated(program.units.map(([name]) => name)) ?? repeated(program.steps.map(([at]) => at));
  return twice === undefined ? undefined : `program: "${twice}" is there twice`;
}

function repeatedRequest({ approvals, inbox }: ContinueAsNewState): string | undefined {
  const twice =
    repeated(approvals?.pending.map(({ callId }) => callId) ?? []) ??
    repeated(inbox.messages.map(({ id }) => id)) ??
    repeated((inbox.raises ?? []).map(({ id }) => id));
  return twice === undefined ? undefined : `two requests, messages or calls that wait have the id "${twice}"`;
}

/** Returns the first value that occurs twice. */
function repeated(values: readonly (string | number)[]): string | number | undefined {
  const seen = new Set<string | number>();
  return values.find((value) => seen.size === seen.add(value).size);
}

function isThere<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

/** Returns the name of a step by its address: `sort.Kind` of `sort.Kind[2][0]`. */
function withoutIndexes(address: string): string {
  const at = address.indexOf('[');
  return at >= 0 && /^(?:\[\d+\])+$/.test(address.slice(at)) ? address.slice(0, at) : address;
}
