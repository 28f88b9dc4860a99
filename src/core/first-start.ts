import type { ActivityRequest } from './activity-requests/activity-request.ts';
import { resolveProgramRequest } from './activity-requests/program-requests.ts';
import { resolveRequest } from './activity-requests/agent-requests.ts';
import type { AgentDocument, AgentSnapshot } from './domain/agent.ts';
import { defined, type JsonObject } from './domain/json.ts';
import { narrowLimits } from './domain/limits.ts';
import { type ContentItem, needsResponse } from './domain/content.ts';
import { newProgramState, type Resume } from './domain/program-run.ts';
import { setState } from './domain/record.ts';
import type { Notice, Principal } from './domain/run.ts';
import { isoTime } from './domain/time.ts';
import { overridesIn, type ParentRun, type SessionKind } from './domain/run-input.ts';
import type { Resolved } from './domain/children.ts';
import type { SessionOverrides } from './domain/sessions.ts';
import { notifyOnEnd, setParent } from './capabilities/children/children.ts';
import { blankRunState, newRunState, recordEvent, recordNotices, type RunClock, type RunState } from './kernel/run-state.ts';
import type { Inbox } from './kernel/inbox.ts';
import type {
  ChildInputAnswer,
  ProgramInput,
  ResolveAgentInput,
  ResolveAgentOutput,
  ResolveProgramInput,
  RunInput,
  StepValuesAnswer,
} from './protocol.ts';
import { beginSession, openAs } from './sessions/open-session.ts';

/** The start of the first execution of a run, of an agent or a program. */
export type FirstStart = { type: 'input'; input: RunInput } | { type: 'program'; input: ProgramInput };

/** Returns the first activity of a run: it resolves the agent, or checks and pins the program. */
export function firstRequest(
  run: { key?: string },
  start: FirstStart,
): ActivityRequest<ResolveAgentInput | ResolveProgramInput, ResolveAgentOutput, Resolved> {
  return start.type === 'program' ? resolveProgramRequest(run, start.input) : resolveRequest(run, start.input);
}

/** Returns the start of a run with the input and deps that its first activity requested from the parent. */
export function withOpening(start: FirstStart, opening: ChildInputAnswer | undefined): FirstStart {
  if (start.type === 'program' || opening === undefined) return start;
  const { input, deps } = opening;
  return {
    type: 'input',
    input: { ...start.input, ...defined({ input, deps }) },
  };
}

/** The initial values of a run, besides its input. */
interface BeginningOfRun {
  runId: string;
  snapshot: AgentSnapshot;
  deps: JsonObject;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Notices about the agent's tools. */
  notices?: readonly Notice[] | undefined;
}

export function firstState(start: FirstStart, { notices, ...beginning }: BeginningOfRun, clock: RunClock): RunState {
  const state =
    start.type === 'program'
      ? beginProgram({ ...beginning, input: start.input.input, resume: start.input.resume }, clock)
      : newRunState({ ...start.input, ...beginning }, clock);
  const parent = parentOfStart(start, beginning.startedAt);
  if (parent !== undefined) setParent(state, parent);
  // The agent is resolved without these limits: each turn gets its own.
  if (parent?.kept) state.limits = narrowLimits(state.snapshot.limits, parent.left);
  recordNotices(state, clock, notices);
  for (const [key, value] of Object.entries(start.input.state ?? {})) setState(state.context, key, value);
  const { principal } = start.input;
  if (principal !== undefined) state.principal = principal;
  if (start.type === 'input' && start.input.session !== undefined) {
    const opens = start.input.input !== undefined || hasQuestion(start.input.messages ?? []);
    openAs(state, beginSession(start.input.session, { startedAt: beginning.startedAt, opens, overrides: overridesOf(start.input) }));
    if (!opens) state.status = 'idle';
  }
  return state;
}

function overridesOf(input: RunInput): SessionOverrides {
  const { limits } = input;
  return { ...overridesIn(input), ...defined({ limits }) };
}

/** True if the initial conversation of a session waits for an answer. */
function hasQuestion(messages: readonly ContentItem[]): boolean {
  return messages.some((item) => item.type !== 'message' || item.role !== 'system') && needsResponse(messages);
}

/** Returns the parent in a run's input. It is first checked after one check interval. */
export function parentOfStart({ input: { parent } }: FirstStart, startedAt: number): ParentRun | undefined {
  if (parent === undefined) return undefined;
  return { ...parent, checkAt: startedAt + parent.checkMs };
}

/** Records in the inbox of a first execution that a kept session notifies its parent of its end. */
export function rememberParentSession(inbox: Inbox, { input: { parent } }: { input: Pick<RunInput, 'parent'> }): void {
  if (parent?.kept) notifyOnEnd(inbox, parent.runId);
}

/** Returns the kind of session that a run starts as; empty for a run that ends with its answer. */
export function openingKind({ input: { session, parent } }: { input: Pick<RunInput, 'parent' | 'session'> }): { opensAs?: SessionKind } {
  return session === undefined ? {} : { opensAs: parent?.kept ? 'kept session' : 'session' };
}

/** Returns the name of the agent or program in a run's input. */
export function nameOfStart(start: FirstStart): string {
  if (start.type === 'input') return start.input.agent;
  const { program } = start.input;
  return typeof program === 'string' ? program : program.name;
}

/** The part of a run's input that its first activity queries. */
export interface QueriedInput {
  programInput?: NonNullable<StepValuesAnswer['program']>;
  /** For an agent that comes as a document. */
  document?: AgentDocument;
  /** For an agent: the text of its input. */
  input?: string;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
}

/** Returns the part of a run's input that its first activity queries. */
export function queriedInput(start: FirstStart): QueriedInput {
  const { principal } = start.input;
  return { ...inputOfKind(start), ...defined({ principal }) };
}

function inputOfKind(start: FirstStart): QueriedInput {
  if (start.type === 'input') {
    const { document, input } = start.input;
    const text = typeof input === 'string' ? input : input?.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    return defined({ document, input: text });
  }
  const { program, input = {} } = start.input;
  return { programInput: { input, ...(typeof program === 'string' ? {} : { document: program }) } };
}

interface ProgramBeginning {
  runId: string;
  snapshot: AgentSnapshot;
  input?: JsonObject | undefined;
  resume?: Resume | undefined;
  deps?: JsonObject | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Returns the state of a program's run, with the input as its first event. */
export function beginProgram({ input = {}, resume, ...beginning }: ProgramBeginning, clock: RunClock): RunState {
  const { snapshot, startedAt } = beginning;
  if (snapshot.program === undefined) throw new TypeError(`The snapshot "${snapshot.name}" has no program`);
  const state = blankRunState(beginning);
  state.program = newProgramState(snapshot.program, input, resume);
  const content = [{ type: 'message' as const, role: 'user' as const, content: JSON.stringify(input) }];
  recordEvent(state, clock, { author: 'user', content, timestamp: isoTime(startedAt) });
  // No model reads the record of a program.
  state.window = { ...state.window, events: [], bytes: 0 };
  return state;
}
