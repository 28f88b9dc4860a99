import type { AgentDocument } from '../../../domain/agent.ts';
import { DEFAULT_STEPS, type LimitChanges, type LimitOptions, plainLimits } from '../../../domain/limits.ts';
import type { ChildStart } from '../../../domain/children.ts';
import { oneLine } from '../../../domain/text.ts';
import { errorMessage } from '../../../domain/errors.ts';
import { isJsonObject } from '../../../domain/json.ts';
import type { AskDocument, StepDocument, UnitDocument } from '../../../domain/program-document.ts';
import { milliseconds } from '../../../domain/time.ts';
import { DEFAULT_CHILD_CHECK_MS, MAX_RUN_DEPTH, type ParentInput, type RunInput } from '../../../domain/run-input.ts';
import type { Principal } from '../../../domain/run.ts';
import { failureText } from '../../errors/failure-text.ts';
import { anchorNames, FAILURE_CONTEXT, renderAsk, type RenderedPrompt } from '../../prompt/ask-prompt.ts';
import { interpolate, resolveValue } from '../../references/interpolate.ts';
import { indexOf } from '../../state/program-index.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import { lookupAt } from '../values.ts';

// Programs: the input of a child.

/** The most characters of the id of a workflow. */
const MAX_ID = 1_000;

/** A child to start, or the reason why it cannot start. */
type MadeStart = { ok: true; runId: string; start: ChildStart; promptLength?: number } | { ok: false; problem: string };

/** Makes the input of the child of a step: its references resolved, as edited by a person, with the part of the limits of the run that it is `given`. */
export function childStart(run: ProgramRun, running: RunningStep, step: StepDocument, given: LimitChanges): MadeStart {
  const { depth = 0 } = run.state.parent ?? {};
  if (depth >= MAX_RUN_DEPTH) return refused(`the limit of ${MAX_RUN_DEPTH} runs inside of each other is reached`);
  const { at, state } = running;
  const runId = `${run.state.runId}/${at}${state.attempts > 1 ? `#${state.attempts}` : ''}`;
  if (runId.length > MAX_ID) return refused(`its run id would have more than ${MAX_ID} characters: start the program with a shorter one`);
  try {
    const parent = parentOf(run, step, { depth: depth + 1, given });
    const made = startOf(run, running, step, parent);
    return made.ok ? { ...made, runId } : made;
  } catch (error) {
    // A limit or a time-out that is no duration, which a lenient document may have.
    return refused(errorMessage(error));
  }
}

type Made = { ok: true; start: ChildStart; promptLength?: number } | Extract<MadeStart, { ok: false }>;

function startOf(run: ProgramRun, running: RunningStep, step: StepDocument, parent: ParentInput): Made {
  if (step.ask !== undefined) return askStart(run, running, step, parent);
  return step.agent === undefined ? programStart(run, running, step, parent) : agentStart(run, running, step, parent);
}

function askStart(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }, parent: ParentInput): Made {
  const asked = askAgent(run, running, step);
  if (!asked.ok) return refused(asked.problem);
  const limits = { steps: DEFAULT_STEPS, ...plain(running.at, step.ask.limits) };
  const input = { ...asked.input, ...common(run, limits, parent) };
  return { ok: true, start: { kind: 'agent', input }, promptLength: asked.promptLength };
}

function agentStart(run: ProgramRun, running: RunningStep, { agent, refine }: StepDocument, parent: ParentInput): Made {
  const { program } = run;
  const { approved, failure } = running.state.progress ?? {};
  const { name = '', input = '', deps, limits } = agent ?? {};
  const lookup = lookupAt(program, running.address);
  const text = interpolate(input, lookup, { lenient: program.document.lenient });
  const data = resolveValue(deps ?? {}, lookup, { lenient: program.document.lenient });
  if (!text.ok) return refused(text.problem);
  if (!data.ok) return refused(data.problem);
  const given = { input: text.value, deps: data.value, ...approved?.arguments };
  if (typeof given.input !== 'string') return refused('"input" is no text');
  if (!isJsonObject(given.deps)) return refused('"deps" is no object');
  const told = failure !== undefined && refine?.passFailureContext !== false;
  return {
    ok: true,
    start: {
      kind: 'agent',
      input: {
        agent: name,
        input: told ? `${given.input}${FAILURE_CONTEXT}${failureText(failure.error)}` : given.input,
        ...(Object.keys(given.deps).length === 0 ? {} : { deps: given.deps }),
        ...common(run, plain(running.at, limits), parent),
      },
    },
  };
}

function programStart(run: ProgramRun, running: RunningStep, { program: called }: StepDocument, parent: ParentInput): Made {
  const { program } = run;
  const { approved } = running.state.progress ?? {};
  const { name = '', input = {}, limits } = called ?? {};
  const resolved = resolveValue(input, lookupAt(program, running.address), { lenient: program.document.lenient });
  if (!resolved.ok) return refused(resolved.problem);
  const given = approved?.arguments?.['input'] ?? resolved.value;
  if (!isJsonObject(given)) return refused('"input" is no object');
  return {
    ok: true,
    start: { kind: 'program', input: { program: name, input: given, ...common(run, plain(running.at, limits), parent) } },
  };
}

/** Returns the fields of the input that both kinds have. */
function common<Limits extends LimitChanges>(
  { state }: ProgramRun,
  limits: Limits,
  parent: ParentInput,
): { limits?: Limits; tags?: string[]; live?: true; principal?: Principal; parent: ParentInput } {
  const { principal, snapshot } = state;
  const { tags = [], live } = snapshot;
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(tags.length === 0 ? {} : { tags: [...tags] }),
    ...(live === undefined ? {} : { live }),
    ...(principal === undefined ? {} : { principal }),
    parent,
  };
}

function parentOf(
  { state, ports }: ProgramRun,
  { name, timeout }: StepDocument,
  { depth, given }: { depth: number; given: LimitChanges },
): ParentInput {
  const { limits, startedAt } = state;
  const left = { ...given };
  if (limits.deadlineMs !== undefined) left.deadlineMs = Math.max(1, startedAt + limits.deadlineMs - ports.now());
  if (timeout !== undefined) left.deadlineMs = Math.min(left.deadlineMs ?? Infinity, milliseconds(timeout, `step "${name}": "timeout"`));
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = state.snapshot.timing;
  const { permissions, hooks } = state.parent ?? {};
  return {
    runId: state.runId,
    depth,
    checkMs: childCheckMs,
    ...(Object.keys(left).length === 0 ? {} : { left }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(hooks === undefined ? {} : { hooks }),
  };
}

function plain(at: string, limits: LimitOptions | undefined): LimitChanges {
  return limits === undefined ? {} : plainLimits(`step "${at}"`, limits);
}

function refused(problem: string): Extract<MadeStart, { ok: false }> {
  return { ok: false, problem };
}

// Programs: the agent of an `ask` with tools, as the input of its run.

/** The most characters of the name of an agent. */
const MAX_NAME = 100;

/** The part of the input of a run that describes an `ask` with tools, and the length of its prompt. */
type AskAgent = { ok: true; input: RunInput; promptLength: number } | Extract<RenderedPrompt, { ok: false }>;

/** Renders the prompt of an `ask` with tools, and describes its agent. Its tools get the deps of the program. */
function askAgent(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }): AskAgent {
  const { document } = run.program;
  const { unit } = indexOf(document).get(running.address.unit, step.name);
  const rendered = renderedPrompt(run, running, { unit, step });
  if (!rendered.ok) return rendered;
  const { deps } = run.state;
  const input: RunInput = {
    agent: oneLine(`${document.name}/${unit.name}.${step.name}`, MAX_NAME),
    document: agentDocument(run, { unit, step, instructions: rendered.instructions }),
    input: rendered.prompt,
    ...(Object.keys(deps).length === 0 ? {} : { deps }),
  };
  return { ok: true, input, promptLength: rendered.prompt.length };
}

/** A step that asks, in its unit. */
interface Asking {
  unit: UnitDocument;
  step: StepDocument & { ask: AskDocument };
}

function renderedPrompt({ program }: ProgramRun, { address, state }: RunningStep, { unit, step }: Asking): RenderedPrompt {
  const { failure, approved } = state.progress ?? {};
  const edited = approved?.arguments?.['prompt'];
  const isTold = failure !== undefined && step.refine?.passFailureContext !== false;
  return renderAsk(unit, step.ask, {
    lookup: lookupAt(program, address),
    lenient: program.document.lenient === true,
    anchors: [],
    ...(isTold ? { failure: failureText(failure.error) } : {}),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
}

function agentDocument(
  { program: { document } }: ProgramRun,
  { unit, step, instructions }: Asking & { instructions: string[] },
): AgentDocument {
  const { ask, name } = step;
  const { model = document.model ?? '', tools = [], output, type, confidenceFloor, requiredFields, range } = ask;
  const anchors = anchorNames(unit, ask);
  const effort = ask.effort ?? unit.effort;
  const settings = { ...(effort === undefined ? {} : { reasoningEffort: effort }), ...ask.settings };
  return {
    step: name,
    model,
    instructions,
    tools,
    ...(anchors.length === 0 ? {} : { anchors }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(output === undefined ? {} : { output }),
    ...(type === undefined ? {} : { type }),
    ...(confidenceFloor === undefined ? {} : { confidenceFloor }),
    ...(requiredFields === undefined ? {} : { requiredFields }),
    ...(range === undefined ? {} : { range }),
    ...(document.lenient === true ? { lenient: true } : {}),
  };
}
