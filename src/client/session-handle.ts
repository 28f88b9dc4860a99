import { randomUUID } from 'node:crypto';
import { type Client, WithStartWorkflowOperation, type WorkflowStartOptions } from '@temporalio/client';
import {
  defineSearchAttributeKey,
  type SearchAttributePair,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import type { ContentItem, ContentPart } from '../core/domain/content.ts';
import { errorCode, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined, type JsonValue } from '../core/domain/json.ts';
import { type LimitOptions, SESSION_LIMIT_OPTIONS, type SessionLimits } from '../core/domain/limits.ts';
import {
  type CompletedRun,
  type DefaultOutput,
  EndedRun,
  type RunResultFields,
  type RunResultJson,
  type UnfinishedRun,
} from '../core/domain/result.ts';
import type { SessionInput } from '../core/domain/run-input.ts';
import { identityOf, type Principal } from '../core/domain/run.ts';
import {
  type CloseReceipt,
  endedTurns,
  type InterruptInput,
  type InterruptReceipt,
  type RefreshReceipt,
  type ResetReceipt,
  sessionOf,
  type TurnResultFields,
  type TurnView,
  sessionProblem,
} from '../core/domain/sessions.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import type { TurnsPage } from '../core/domain/views.ts';
import {
  AGENT_RUN,
  type MessageReceipt,
  QUERIES,
  type RaiseReceipt,
  type RunInput,
  SEARCH_ATTRIBUTES,
  type StatusView,
  TITLE_MEMO,
  UPDATES,
} from '../core/protocol.ts';
import type { SavedContext } from '../core/saved/saved-context.ts';
import type { AnyAgent, DepsOption, OutputOf, UnfinishedOf } from '../define/agent-definition.ts';
import { requireKnown } from '../define/option-checks.ts';
import { checkNewRunId, describeRun, hasEndedAs, runOutcome } from '../temporal/run-workflow.ts';
import { failIfUnreachable } from '../temporal/server-calls.ts';
import { sleep, waitEnded, type WaitOptions, waitSignal } from '../temporal/waiting.ts';
import { queryLoadedRun, queryRun, RunChain } from './executions.ts';
import { AuthorizedRun, type RunAccess } from './run-access.ts';
import type { TurnsOptions } from './run-details.ts';
import type { RunHandle } from './run-handle.ts';
import { readSaved, withEarlier } from './saved-context.ts';
import {
  mergedAttributes,
  runInput,
  SESSION_START_OPTIONS,
  type SessionStart,
  withPublishedAttributes,
  workflowOptions,
} from './start-workflow.ts';
import type { StreamItem } from './stream/stream-item.ts';
import type { StreamOptions } from './stream/stream-run.ts';
import {
  type Addressee,
  raiseLimits,
  type RaiseOptions,
  sendMessage,
  type SendOptions,
  type StartOperation,
  type UpdateOptions,
  updateRun,
} from './updates.ts';
import { agentAttribute, principalAttributes } from './visibility.ts';

/** The type of a session's handle, given the type or the name of its agent. */
export type SessionOf<Agent> = [Agent] extends [AnyAgent] ? SessionHandle<OutputOf<Agent>, UnfinishedOf<Agent>> : SessionHandle;

/** The parts that a session shares with its client. */
interface SessionParts<Output, Unfinished> {
  client: Client;
  agent: AnyAgent | string;
  run: RunHandle<Output, Unfinished>;
  access: RunAccess;
  taskQueue?: string | undefined;
  userKey?: string | undefined;
  /** Called with each notice for the person who starts the session. */
  onNotice?: (line: string) => void;
}

/**
 * A conversation with an agent, for as long as its users like: one run, which sleeps without a timer between turns.
 * The session need not exist: its first message starts it. All methods except `open`, `send` and `ask` throw `run_not_found` for a
 * session that has not started and for another principal's session, for which these three throw `run_exists`: its id is taken. All throw
 * `server_unreachable` if no server answers.
 */
export class SessionHandle<Output = DefaultOutput, Unfinished = Output | string> {
  /** The id of the session, which is also its run id. */
  readonly id: string;
  /** The session as a run: its events, approvals, status, `cancel` and so on. `result` is the result of the whole session. */
  readonly run: RunHandle<Output, Unfinished>;
  readonly #client: Client;
  readonly #allowed: AuthorizedRun;
  readonly #startOptions: (attributes: SearchAttributePair[]) => Parameters<typeof startSession>[1];
  /** The search attributes that distinguish the session from other runs, and its principal. */
  readonly #attributes: SearchAttributePair[];
  readonly #access: RunAccess;
  readonly #sender: Addressee['sender'];
  readonly #agentName: string;
  readonly #chain: RunChain;
  readonly #onNotice: SessionParts<Output, Unfinished>['onNotice'];
  /** True once the server has answered a message: the session no longer needs to be started. */
  #isStarted = false;

  /** Throws `invalid_input` or a UsageError for invalid options. @internal */
  constructor({ client, agent, run, access, taskQueue, userKey, onNotice }: SessionParts<Output, Unfinished>, options: SessionOptions) {
    requireKnown('the session', options, SESSION_OPTIONS);
    const problem = typeof agent === 'string' ? undefined : sessionProblem(agent);
    if (problem !== undefined) throw new UsageError(`the session cannot begin: ${problem}`);
    this.id = checkNewRunId(options.id);
    this.run = run;
    this.#client = client;
    this.#onNotice = onNotice;
    this.#allowed = new AuthorizedRun(client, this.id, access);
    this.#chain = new RunChain(client, this.id);
    const { id, principal, turnLimits = {} } = options;
    const earlier = readSaved({ ...options }, typeof agent === 'string' ? agent : agent.name);
    for (const notice of earlier?.notices ?? []) onNotice?.(notice);
    const given = withEarlier(options, earlier);
    this.#access = access;
    this.#sender = principal === undefined ? undefined : { principal: identityOf(principal), key: userKey };
    // The run's limits apply to a turn; the limits of the session are part of `session`.
    const input = runInput(agent, { ...given, limits: turnLimits, session: sessionInput(options) });
    this.#agentName = input.agent;
    // The first attribute marks a session in lists: the agent that it begins with. The server carries it over.
    this.#attributes = [
      { key: SESSION, value: input.agent },
      agentAttribute(input.agent),
      ...principalAttributes(principal ?? {}, userKey),
    ];
    const summary = `${input.agent}: session${options.title === undefined ? '' : ` "${options.title}"`}`;
    const { typedSearchAttributes, ...workflow } = workflowOptions(input, { ...given, summary }, taskQueue);
    this.#startOptions = (attributes) => ({
      ...workflow,
      ...mergedAttributes(typedSearchAttributes, attributes),
      ...sessionMemo(workflow.memo, options),
      workflowId: id,
    });
  }

  /** Yields what happens in the session, over all its turns, until it is closed: see `RunHandle.stream`. */
  stream(options: StreamOptions = {}): AsyncGenerator<StreamItem> {
    return this.run.stream(options);
  }

  /**
   * Starts the session without a message: it waits for its first one. Optional, since a message also starts a session.
   * Throws `run_exists` if the id is taken.
   */
  async open(): Promise<void> {
    await failIfUnreachable(this.#client, () =>
      this.#withAttributes((attributes) => startSession(this.#client, this.#startOptions(attributes))),
    );
    this.#isStarted = true;
  }

  #withAttributes<Value>(begin: (attributes: SearchAttributePair[]) => Promise<Value>): Promise<Value> {
    return withPublishedAttributes(this.#client, this.#attributes, begin, this.#onNotice);
  }

  /**
   * Sends a message, and starts the session if it does not exist, in one request. The receipt names the turn that
   * answers it. A message during a turn belongs to that turn. It is accepted once per id. Throws `session_limit` once a limit of
   * the session is reached, `run_exists` for a session that began with another agent or is another principal's, `run_ended` for a closed
   * session, `queue_full`, `payload_too_large`, `invalid_input`, `wait_timeout`. A session whose agent could not be resolved has had no turn:
   * it is started again, with the options of this handle.
   */
  async send(content: string | ContentPart[], options: SendOptions = {}): Promise<MessageReceipt> {
    return failIfUnreachable(this.#client, async () => {
      // A session refuses another principal's message, but a workflow that is not a session would accept it.
      await this.#access.requireUnlessAbsent(this.id);
      const run = { client: this.#client, runId: this.id, ...defined({ sender: this.#sender }) };
      // The id makes it the same message if it is sent twice.
      const message = { id: randomUUID(), ...options, session: { agent: this.#agentName } };
      const starting = (more: Partial<WorkflowStartOptions<SessionWorkflow>>): Promise<MessageReceipt> =>
        this.#withAttributes((attributes) =>
          sendMessage({ ...run, start: () => startOfSession({ ...this.#startOptions(attributes), ...more }) }, content, message),
        );
      const sent = (this.#isStarted ? sendMessage(run, content, message) : starting({})).catch(async (error: unknown) => {
        if (errorCode(error) !== 'run_ended') throw error;
        await this.#requireSession();
        if (!(await this.#hasNeverBegun())) throw error;
        return starting({ workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' });
      });
      const receipt = await sent.catch(async (error: unknown) => {
        // Other refusals, such as `run_ended`, must not reveal what another principal has under this id.
        await this.#access.requireUnlessAbsent(this.id);
        throw error;
      });
      this.#isStarted = true;
      if (this.#sender !== undefined) this.#access.note(this.id);
      return receipt;
    });
  }

  /** Throws `invalid_input` if what has ended under the id is a run: no message starts it again, as the run would refuse it while open. */
  async #requireSession(): Promise<void> {
    const { executionBeginning } = await import('../history/execution-reader.ts');
    const beginning = await executionBeginning(this.#client, this.id);
    if (beginning === undefined || beginning.isSession === true) return;
    throw new LonghaulError('invalid_input', `Run "${this.id}" is not a session, and has ended: choose another id for the session`);
  }

  /** True if the session has failed before its first turn, because its agent could not be resolved. */
  async #hasNeverBegun(): Promise<boolean> {
    return this.#allowed.for(async () => {
      const { status, runId, parentExecution } = await describeRun(this.#client, this.id);
      if (status.name !== 'FAILED' || parentExecution !== undefined) return false;
      // A session counts its turns once it has its agent.
      const { turns, stepsUsed } = await runOutcome(this.#client, this.id, runId);
      return turns === undefined && stepsUsed === 0;
    });
  }

  /**
   * Sends a message and waits for the end of the turn that answers it. `timeout` covers both. Throws as `send`, `wait_timeout` if
   * it takes longer, `invalid_input` for a run that is not a session, and the reason of the signal.
   */
  async ask(content: string | ContentPart[], options: SendOptions & WaitOptions = {}): Promise<TurnResult<Output, Unfinished>> {
    const { signal: _, ...sending } = options;
    // The timeout starts now.
    const signal = waitSignal(options);
    return this.#answer(await this.send(content, sending), options, signal);
  }

  /**
   * Waits for the end of the turn that answers a message, given by its receipt. Throws `wait_timeout`, `invalid_input` for the receipt of a
   * run that is not a session, and the reason of the signal.
   */
  async answer(receipt: Pick<MessageReceipt, 'id' | 'turn'>, options: WaitOptions = {}): Promise<TurnResult<Output, Unfinished>> {
    return this.#answer(receipt, options, waitSignal(options));
  }

  async #answer(
    receipt: Pick<MessageReceipt, 'id' | 'turn'>,
    options: WaitOptions,
    signal: AbortSignal | undefined,
  ): Promise<TurnResult<Output, Unfinished>> {
    for (let turn = answeringTurn(this.id, receipt); ; turn += 1) {
      const result = await this.#allowed.for(() => this.#wait(turn, options, signal));
      // An interrupted turn, for example, may end before the model reads the message.
      if (!result.unanswered?.includes(receipt.id)) return result;
    }
  }

  /**
   * Waits for the end of a turn and returns its result. Without a number, this is the newest turn that has begun, or the first turn if
   * none has. If the session ended before the turn did, for example because its agent could not be resolved, returns its result. Throws
   * `invalid_input` for a turn that has not begun, `run_ended` if the session ended before it, `run_terminated`, `wait_timeout`, and the
   * reason of the signal.
   */
  async turn(number?: number, options: WaitOptions = {}): Promise<TurnResult<Output, Unfinished>> {
    const turn = number ?? (await this.status()).session?.turns ?? 0;
    return this.#allowed.for(async () => {
      if (number === undefined && turn === 0) return this.#wait(1, options);
      const ended = await readTurn(this.#session, turn);
      return ended === undefined ? this.#wait(turn, options) : new TurnResult<Output, Unfinished>(ended);
    });
  }

  /**
   * Returns a page of the turns, oldest first, with the beginnings of questions and answers. Throws `history_removed` if the server has
   * removed the first of them.
   */
  async turns(options: TurnsOptions = {}): Promise<TurnsPage> {
    return this.#allowed.for(async () => {
      const { turnsPage } = await import('./run-details.ts');
      return turnsPage({ client: this.#client, runId: this.id, reader: { chain: this.#chain } }, options);
    });
  }

  /** Interrupts the current turn: its calls are aborted, it ends as `cancelled`, and the session takes the next message. */
  async interrupt({ reason, by, turn, ...options }: InterruptInput & UpdateOptions = {}): Promise<InterruptReceipt> {
    const argument: InterruptInput = defined({ reason, by, turn });
    return this.#allowed.for(() => updateRun<InterruptReceipt>(this.#client, this.id, { name: UPDATES.interrupt, argument }, options));
  }

  /** Resolves the agent again before the next turn: it gets the instructions, tools and limits that the workers have by then. */
  async refresh(options: UpdateOptions = {}): Promise<RefreshReceipt> {
    return this.#allowed.for(() => updateRun<RefreshReceipt>(this.#client, this.id, { name: UPDATES.refresh, argument: {} }, options));
  }

  /** Empties the conversation after the current turn: the next turn sees none of it. Keeps deps, turns, limits and the record. */
  async reset(options: UpdateOptions = {}): Promise<ResetReceipt> {
    return this.#allowed.for(() => updateRun<ResetReceipt>(this.#client, this.id, { name: UPDATES.reset, argument: {} }, options));
  }

  /** Returns the conversation, deps and counters of the session as a document: `client.loadSession` begins another session with it. */
  save(): Promise<SavedContext> {
    return this.run.save();
  }

  /** Closes the session, after the current turn: its run completes. */
  async close({ by, ...options }: { by?: string } & UpdateOptions = {}): Promise<CloseReceipt> {
    const argument = defined({ by });
    return this.#allowed.for(() => updateRun<CloseReceipt>(this.#client, this.id, { name: UPDATES.close, argument }, options));
  }

  /**
   * Raises limits of the whole session, each to its new value; `null` removes a limit: `{turns: 50, totalTokens: null}`. Accepted once per
   * id. Throws `invalid_input` for a limit that would be lower or that the session does not have, `run_ended`, `wait_timeout`.
   */
  async raise(limits: SessionLimitOptions, options: RaiseOptions = {}): Promise<RaiseReceipt> {
    return this.#allowed.for(() => raiseLimits(this.#client, this.id, { session: plainSessionLimits(limits) }, options));
  }

  /** Returns the status of the session, `idle` between turns. `session` has its turns, limits and amounts. */
  status(): Promise<StatusView> {
    return this.run.status();
  }

  async #wait(turn: number, options: WaitOptions, signal = waitSignal(options)): Promise<TurnResult<Output, Unfinished>> {
    try {
      return new TurnResult<Output, Unfinished>(await waitForTurn(this.#session, turn, signal));
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw waitEnded(this.id, options, []);
    }
  }

  get #session(): ReadSession {
    return { client: this.#client, sessionId: this.id, chain: this.#chain };
  }
}

const SESSION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.session, SearchAttributeType.KEYWORD);

/** Returns the caller's memo with the session's title. Unlike a search attribute, it is encrypted if payloads are. */
function sessionMemo(
  memo: Record<string, unknown> | undefined,
  { title }: Pick<SessionInput, 'title'>,
): { memo?: Record<string, unknown> } {
  const whole = { ...memo, ...(title === undefined ? {} : { [TITLE_MEMO]: title }) };
  return Object.keys(whole).length === 0 ? {} : { memo: whole };
}

/** The type of the workflow, for the Temporal Client. */
type SessionWorkflow = (input: RunInput) => Promise<unknown>;

/** Returns the start of a session for use with its first message. It can be used once: another attempt needs a new one. */
function startOfSession(options: WorkflowStartOptions<SessionWorkflow>): StartOperation {
  return new WithStartWorkflowOperation<SessionWorkflow>(AGENT_RUN, { ...options, workflowIdConflictPolicy: 'USE_EXISTING' });
}

/** Starts a session without a message. Throws `run_exists`. */
async function startSession(client: Client, options: WorkflowStartOptions<SessionWorkflow>): Promise<void> {
  try {
    await client.workflow.start<SessionWorkflow>(AGENT_RUN, { ...options, workflowIdConflictPolicy: 'FAIL' });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new LonghaulError('run_exists', `Session "${options.workflowId}" exists already: choose another id, or delete it first`);
  }
}

interface ReadSession {
  client: Client;
  sessionId: string;
  chain: RunChain;
}

/** The pauses between two checks of a running turn: short at first, since most turns end soon. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Returns the result of a turn, or undefined while it is running. Needs no worker. Throws `invalid_input` for a turn that has not begun, and
 * as `waitForTurn` for a session that has ended.
 */
async function readTurn(session: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const { client, sessionId, chain } = session;
  const view = await queryRun<TurnView>(client, sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  if (view?.running === turn) return undefined;
  const { readRun, turnOfEndedSession } = await import('../history/read-run.ts');
  let begun = 0;
  for await (const { run } of readRun(client, sessionId, chain, { fromTurn: turn })) {
    const result = endedTurns(run.state ?? {}).find((one) => one.turn === turn);
    if (result !== undefined) return result;
    begun = sessionOf(run.state ?? {})?.turns ?? 0;
  }
  if (begun >= turn) return undefined;
  if ((await placeOf(session)).hasEnded) return endedTurn(await turnOfEndedSession(client, sessionId, { turn }), turn);
  throw new LonghaulError('invalid_input', `Session "${sessionId}" has no turn ${turn}: it has begun ${begun}`);
}

/**
 * Waits for the end of an accepted turn and returns its result, or the session's result if the session ended without ending the turn.
 * Throws `run_not_found`, `run_ended` if the session ended before the turn, `run_terminated`, `run_timed_out`, and the reason of the
 * signal. Queries the session only when it is at rest: a query replays a session that is not in the worker's cache,
 * and is refused in the middle of a workflow task. The history of a busy session is read every second.
 */
async function waitForTurn(session: ReadSession, turn: number, signal?: AbortSignal): Promise<TurnResultFields> {
  const { client, sessionId } = session;
  let pause = SHORTEST_PAUSE_MS;
  let asked: { place: string; at: number } = { place: '', at: Date.now() };
  for (;;) {
    signal?.throwIfAborted();
    const { hasEnded, isAtRest, place } = await placeOf(session);
    if (hasEnded) {
      const { turnOfEndedSession } = await import('../history/read-run.ts');
      return endedTurn(await turnOfEndedSession(client, sessionId, { turn }), turn);
    }
    // A session with many users may never be at rest.
    if (place !== asked.place && (isAtRest || Date.now() - asked.at >= LONGEST_PAUSE_MS)) {
      const result = isAtRest ? await askForTurn(session, turn) : await recordedTurn(session, turn);
      asked = { place, at: Date.now() };
      if (result !== undefined) return result;
    }
    await sleep(pause, signal);
    pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Returns the result of a turn of an ended session. A session's result lacks the turn and its first step. */
function endedTurn(result: RunResultFields | TurnResultFields, turn: number): TurnResultFields {
  return 'turn' in result ? result : { ...result, turn, firstStep: result.stepsUsed + 1 };
}

/** Returns the result of an accepted turn, or undefined if it has not ended. */
async function askForTurn(session: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const { client, sessionId } = session;
  const view = await queryLoadedRun<TurnView>(client, sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  // If no worker answers, or the turn belongs to an earlier execution, the history has the result, if there is one. The
  // first turn of a session begins only once its agent is resolved.
  return view === undefined || turn < view.firstTurn ? recordedTurn(session, turn) : undefined;
}

async function recordedTurn({ client, sessionId }: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const history = await import('../history/read-run.ts');
  return history.recordedTurn(client, sessionId, { turn });
}

interface SessionPlace {
  hasEnded: boolean;
  /** True if the session has no activity and no workflow task. */
  isAtRest: boolean;
  /** Changes whenever the history grows. */
  place: string;
}

async function placeOf({ client, sessionId }: ReadSession): Promise<SessionPlace> {
  const { raw, runId, historyLength, status } = await describeRun(client, sessionId);
  const isAtRest = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
  return { hasEnded: hasEndedAs(status.name), isAtRest, place: `${runId} ${historyLength}` };
}

/** The place of a turn in its session. */
export interface OfSession {
  /** 1-based. */
  readonly turn: number;
  /** The step of the session with which the turn began. 1-based. */
  readonly firstStep: number;
  /** The ids of accepted messages that the turn did not read: the next turn answers them. Absent if there are none. */
  readonly unanswered?: readonly string[];
}

/** The result of a turn: a RunResult for what happened between a message and its answer. */
export type TurnResult<Output = JsonValue, Unfinished = Output | string> = (CompletedRun<Output> | UnfinishedRun<Unfinished>) & OfSession;

class EndedTurn<Output> extends EndedRun<Output> implements OfSession {
  readonly turn: number;
  readonly firstStep: number;
  readonly unanswered?: readonly string[];

  constructor(fields: TurnResultFields & { output: Output }) {
    super(fields);
    this.turn = fields.turn;
    this.firstStep = fields.firstStep;
    if (fields.unanswered !== undefined) this.unanswered = fields.unanswered;
  }

  /** Returns the JSON form, including the derived fields and the place in the session. */
  override toJSON(): RunResultJson<Output> & OfSession {
    const { turn, firstStep, unanswered } = this;
    return { ...super.toJSON(), turn, firstStep, ...defined({ unanswered }) };
  }
}

/** Makes the result of a turn from its fields. */
export const TurnResult = EndedTurn as new <Output = JsonValue, Unfinished = Output | string>(
  fields: TurnResultFields,
) => TurnResult<Output, Unfinished>;

/** The limits of a whole session. The agent's limits apply to each turn. `null`: no limit. */
export interface SessionLimitOptions extends Omit<SessionLimits, 'deadlineMs'> {
  /** From the start of the session. */
  deadline?: Duration | null;
}

/** The options of a session without its deps. All except `id` are used when the first message starts it. */
export interface SessionSettings extends SessionStart {
  /** Identifies the session: choose it yourself, one for each conversation. */
  id: string;
  /** The user on whose behalf the session acts: short for `principal: {user}`. */
  user?: string;
  /** Limits of the whole session. Default: 200,000 tokens, and no limit of turns. */
  limits?: SessionLimitOptions;
  /** Limits of each turn, in place of the agent's. */
  turnLimits?: LimitOptions;
  /** The number of turns after which the conversation is compacted. Default 20; `null`: only when its window is full. */
  compactAfter?: number | null;
  /** Shown in lists. */
  title?: string;
  /** True: without a title, a model call after the first answer makes one. Its usage counts for the session, and for no turn. */
  generateTitle?: boolean;
  /** `never`: the agent stays as it was when the session began. */
  refresh?: 'never';
  /** The conversation before the first message. */
  messages?: readonly ContentItem[];
  /** In place of `messages`: a saved context, as `save` returned it. Deps of the session override its deps. */
  saved?: SavedContext;
}

/** The options of a session. */
export type SessionOptions<GivenDeps = unknown> = SessionSettings & DepsOption<GivenDeps>;

/** All options by name: the compiler reports one that is added to the type and missing here. */
export const SESSION_OPTIONS: Record<keyof SessionSettings | 'deps', true> = {
  ...SESSION_START_OPTIONS,
  id: true,
  user: true,
  limits: true,
  turnLimits: true,
  compactAfter: true,
  title: true,
  generateTitle: true,
  refresh: true,
  messages: true,
  saved: true,
  deps: true,
};

/** Returns the session's part of the input of a run. */
function sessionInput({ limits, compactAfter, title, generateTitle = false, refresh }: SessionSettings): SessionInput {
  return {
    ...(limits === undefined ? {} : { limits: plainSessionLimits(limits) }),
    ...defined({ compactAfter }),
    ...(title === undefined ? (generateTitle ? { generateTitle: true as const } : {}) : { title }),
    ...defined({ refresh }),
  };
}

/** Returns the limits of a session with its deadline in milliseconds. Throws a UsageError for an unknown limit. */
function plainSessionLimits(options: SessionLimitOptions): SessionLimits {
  requireKnown('the session: "limits"', options, SESSION_LIMIT_OPTIONS);
  const { deadline, ...limits } = options;
  if (deadline === undefined) return limits;
  return { ...limits, deadlineMs: deadline === null ? null : timerMilliseconds(deadline, 'the session: "limits.deadline"') };
}

/** Returns the principal of a session. Throws a UsageError if the options contradict each other. */
export function principalOf({ user, principal }: Pick<SessionSettings, 'user' | 'principal'>): Principal | undefined {
  if (user === undefined) return principal;
  if (principal?.user !== undefined && principal.user !== user) {
    throw new UsageError(`the session: "user" is "${user}" and "principal.user" is "${principal.user}": give one of them`);
  }
  return { ...principal, user };
}

/** Returns the number of the turn that answers a message. Throws `invalid_input` for a message to a run that is not a session. */
export function answeringTurn(sessionId: string, { id, turn }: Pick<MessageReceipt, 'id' | 'turn'>): number {
  if (turn !== undefined) return turn;
  throw new LonghaulError(
    'invalid_input',
    `No turn answers message "${id}": run "${sessionId}" is not a session, or another request had that id. Read the run by its handle, or send the message under another id`,
  );
}
