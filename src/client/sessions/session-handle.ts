import type { Client } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import type { AnyAgent, OutputOf, UnfinishedOf } from '../../define/agent-definition.ts';
import { requireKnown } from '../../define/options/option-checks.ts';
import type { ContentPart } from '../../core/domain/content/content.ts';
import type { JsonValue } from '../../core/domain/json/json.ts';
import type { DefaultOutput } from '../../core/domain/run/result.ts';
import type {
  CloseReceipt,
  InterruptInput,
  InterruptReceipt,
  RefreshReceipt,
  ResetReceipt,
} from '../../core/domain/sessions/session-requests.ts';
import type { TurnResultFields } from '../../core/domain/sessions/session-state.ts';
import { type MessageReceipt, type RaiseReceipt, type StatusView, UPDATES } from '../../core/protocol.ts';
import { failIfUnreachable } from '../../temporal/server-reachability.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { type WaitOptions, waitEnded, waitSignal } from '../../temporal/waiting.ts';
import { RunChain } from '../read/chain.ts';
import type { RunHandle } from '../run-handle.ts';
import { runInput } from '../start/input.ts';
import { mergedAttributes, withPublishedAttributes } from '../start/published-attributes.ts';
import { workflowOptions } from '../start/start-workflow.ts';
import { sendMessage, type SendOptions } from '../updates/send-message.ts';
import { updateRun, type UpdateOptions } from '../updates/update.ts';
import { raiseLimits, type RaiseOptions } from '../updates/raise-limits.ts';
import { type Identity, identityOf } from '../principals/identity.ts';
import type { OwnRuns } from '../principals/own-runs.ts';
import { ReachedRun } from '../principals/reached-run.ts';
import { principalAttributes } from '../principals/principal-attributes.ts';
import { withSaved } from './with-saved.ts';
import { answeringTurn } from './answering-turn.ts';
import { readTurn, waitForTurn } from './read-turn.ts';
import {
  plainSessionLimits,
  principalOf,
  SESSION_OPTIONS,
  type SessionLimitOptions,
  type SessionOptions,
  sessionTerms,
} from './session-options.ts';
import { sessionAttributes, sessionMemo, startOfSession, startSession } from './session-start.ts';
import { TurnResult } from './turn-result.ts';

/** The session of an agent, given by its type or by its name. */
export type SessionOf<Agent> = [Agent] extends [AnyAgent] ? SessionHandle<OutputOf<Agent>, UnfinishedOf<Agent>> : SessionHandle;

/** The parts that a session shares with its client. */
export interface SessionParts<Output, Unfinished> {
  client: Client;
  agent: AnyAgent | string;
  run: RunHandle<Output, Unfinished>;
  own: OwnRuns;
  taskQueue?: string | undefined;
  userKey?: string | undefined;
  /** Called with each notice for the person who starts the session. */
  onNotice?: (line: string) => void;
}

/**
 * A conversation with an agent that goes on for as long as its users like: one run, which sleeps without a timer between two turns.
 * The session need not exist: its first message starts it. Every method throws `run_not_found` for a session that no message has
 * started, but `send` and `ask`, and `server_unreachable` if the server does not answer.
 */
export class SessionHandle<Output = DefaultOutput, Unfinished = Output | string> {
  readonly id: string;
  /** The session as a run: its events, approvals, status, `cancel` and so on. Its `result` is that of the whole session. */
  readonly run: RunHandle<Output, Unfinished>;
  readonly #client: Client;
  readonly #reached: ReachedRun;
  readonly #startOptions: (attributes: SearchAttributePair[]) => Parameters<typeof startSession>[1];
  /** The search attributes that tell the session from other runs, and whom it acts for. */
  readonly #attributes: SearchAttributePair[];
  readonly #principal: Identity | undefined;
  readonly #chain: RunChain;
  /** True once the server has answered a message to the session: it need not be started any more. */
  #isStarted = false;

  /** Throws `invalid_input` and a UsageError for options with which no session can start. */
  constructor({ client, agent, run, own, taskQueue, userKey, onNotice }: SessionParts<Output, Unfinished>, options: SessionOptions) {
    requireKnown('the session', options, Object.keys(SESSION_OPTIONS));
    this.id = checkRunId(options.id);
    this.run = run;
    this.#client = client;
    this.#reached = new ReachedRun(client, this.id, own);
    this.#chain = new RunChain(client, this.id);
    const { turnLimits, principal: _, user: _user, limits: _limits, id, ...others } = options;
    const principal = principalOf(options);
    const { notices, ...given } = withSaved(others, typeof agent === 'string' ? agent : agent.name);
    for (const notice of notices) onNotice?.(notice);
    this.#principal = principal === undefined ? undefined : identityOf(principal);
    const input = runInput(agent, {
      ...given,
      ...(principal === undefined ? {} : { principal }),
      ...(turnLimits === undefined ? {} : { limits: turnLimits }),
      session: sessionTerms(options),
    });
    this.#attributes = [...sessionAttributes(input.agent), ...principalAttributes(this.#principal ?? {}, userKey)];
    const { typedSearchAttributes, ...workflow } = workflowOptions(input, { ...given, summary: `${input.agent}: session` }, taskQueue);
    this.#startOptions = (attributes) => ({
      ...workflow,
      ...mergedAttributes(typedSearchAttributes, attributes),
      ...sessionMemo(workflow.memo, options),
      workflowId: id,
    });
  }

  /**
   * Starts the session without a message: it waits for its first one. Nothing needs to be opened: a message starts a session, too.
   * Throws `run_exists` if the id is taken.
   */
  async open(): Promise<void> {
    await failIfUnreachable(this.#client, () =>
      withPublishedAttributes(this.#client, this.#attributes, (attributes) => startSession(this.#client, this.#startOptions(attributes))),
    );
    this.#isStarted = true;
  }

  /**
   * Sends a message, and starts the session with it if there is none: one request to the server. The receipt names the turn that
   * answers it. A message during a turn belongs to that turn. It is accepted once for each id. Throws `session_limit` once a limit of
   * the session is reached, `run_ended` for a session that is closed, `queue_full`, `payload_too_large`, `invalid_input`, `wait_timeout`.
   */
  async send(content: string | ContentPart[], options: SendOptions = {}): Promise<MessageReceipt> {
    // The session itself refuses the message of another principal: it may have to be started, in the same request.
    return failIfUnreachable(this.#client, async () => {
      const run = { client: this.#client, runId: this.id, ...(this.#principal === undefined ? {} : { principal: this.#principal }) };
      // The same message, if it is sent twice.
      const message = { id: randomUUID(), ...options };
      const receipt = this.#isStarted
        ? await sendMessage(run, content, message)
        : await withPublishedAttributes(this.#client, this.#attributes, (attributes) =>
            sendMessage({ ...run, start: () => startOfSession(this.#startOptions(attributes)) }, content, message),
          );
      this.#isStarted = true;
      return receipt;
    });
  }

  /**
   * Sends a message and waits for the end of the turn that answers it. `timeout` is the time for both. Throws as `send`, `wait_timeout` if
   * it takes longer, `invalid_input` for a run that is no session, and the reason of the signal.
   */
  async ask(content: string | ContentPart[], options: SendOptions & WaitOptions = {}): Promise<TurnResult<Output, Unfinished>> {
    const { signal: _, ...sending } = options;
    // Its time begins now.
    const signal = waitSignal(options);
    const receipt = await this.send(content, sending);
    for (let turn = answeringTurn(this.id, receipt); ; turn += 1) {
      const result = await this.#wait(turn, options, signal);
      // A turn that was interrupted, for instance, may end before the model reads the message.
      if (!result.unanswered?.includes(receipt.id)) return result;
    }
  }

  /**
   * Returns the result of a turn: that of the newest one that has begun, without a number. Waits if it goes on. Throws `invalid_input`
   * for a turn that has not begun, `wait_timeout`, and the reason of the signal.
   */
  async turn(number?: number, options: WaitOptions = {}): Promise<TurnResult<Output, Unfinished>> {
    const turn = number ?? (await this.status()).session?.turns;
    // The agent of the session is being resolved: its first turn is about to begin.
    if (turn === undefined) return this.#reached.for(() => this.#wait(1, options));
    return this.#reached.for(async () => {
      const ended = await readTurn(this.#read, turn);
      return ended === undefined ? this.#wait(turn, options) : this.#result(ended);
    });
  }

  /** Interrupts the turn that goes on: its calls are aborted, it ends as `cancelled`, and the session takes the next message. */
  async interrupt({ reason, by, turn, ...options }: InterruptInput & UpdateOptions = {}): Promise<InterruptReceipt> {
    const argument: InterruptInput = {
      ...(reason === undefined ? {} : { reason }),
      ...(by === undefined ? {} : { by }),
      ...(turn === undefined ? {} : { turn }),
    };
    return this.#reached.for(() => updateRun<InterruptReceipt>(this.#client, this.id, { name: UPDATES.interrupt, argument }, options));
  }

  /** Has the agent resolved again before the next turn: it gets the instructions, tools and limits that the workers have by then. */
  async refresh(options: UpdateOptions = {}): Promise<RefreshReceipt> {
    return this.#reached.for(() => updateRun<RefreshReceipt>(this.#client, this.id, { name: UPDATES.refresh, argument: {} }, options));
  }

  /** Empties the conversation, after the turn that goes on: the next turn sees none of it. Deps, turns and limits stay, and so does the record. */
  async reset(options: UpdateOptions = {}): Promise<ResetReceipt> {
    return this.#reached.for(() => updateRun<ResetReceipt>(this.#client, this.id, { name: UPDATES.reset, argument: {} }, options));
  }

  /** Closes the session, after the turn that goes on: its run completes. */
  async close({ by, ...options }: { by?: string } & UpdateOptions = {}): Promise<CloseReceipt> {
    const argument = by === undefined ? {} : { by };
    return this.#reached.for(() => updateRun<CloseReceipt>(this.#client, this.id, { name: UPDATES.close, argument }, options));
  }

  /**
   * Raises limits of the whole session, each to its new value; `null` lifts one: `{turns: 50, totalTokens: null}`. Accepted once for
   * each id. Throws `invalid_input` for a limit that would be lower or that the session does not have, `run_ended`, `wait_timeout`.
   */
  async raise(limits: SessionLimitOptions, options: RaiseOptions = {}): Promise<RaiseReceipt> {
    return this.#reached.for(() => raiseLimits(this.#client, this.id, { session: plainSessionLimits(limits) }, options));
  }

  /** Returns the status of the session: `idle` between two turns, with its turns, limits and amounts in `session`. */
  status(): Promise<StatusView> {
    return this.run.status();
  }

  async #wait(turn: number, options: WaitOptions, signal = waitSignal(options)): Promise<TurnResult<Output, Unfinished>> {
    try {
      return this.#result(await waitForTurn(this.#read, turn, signal));
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw waitEnded(this.id, options, []);
    }
  }

  #result(fields: TurnResultFields): TurnResult<Output, Unfinished> {
    const result: unknown = new TurnResult<JsonValue>(fields);
    return result as TurnResult<Output, Unfinished>;
  }

  get #read(): { client: Client; sessionId: string; chain: RunChain } {
    return { client: this.#client, sessionId: this.id, chain: this.#chain };
  }
}
