import type { Client } from '@temporalio/client';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { type ContentItem, isToolCall, outputText, type ToolCall } from '../core/domain/content.ts';
import { canonicalJson, defined } from '../core/domain/json.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { addUsageOfEvent, completesStep, type Event, isResponse } from '../core/domain/record.ts';
import type { CallDetails, PinnedAgent, TurnEntry, TurnsPage } from '../core/domain/views.ts';
import { oneLine } from '../core/domain/text.ts';
import { callFacts, type StepResult } from '../core/domain/tool-calls.ts';
import { noUsage } from '../core/domain/usage.ts';
import { approvalViews } from '../core/queries/run-views.ts';
import { agentAt, type ReadExecution, readExecution, readRun } from '../history/read-run.ts';
import { eventsRemoved, type RunReader } from './reader.ts';
import { sessionOf } from '../core/domain/sessions.ts';

/** A run whose parts are read. */
export interface ReadableRun {
  client: Client;
  runId: string;
  reader: Pick<RunReader, 'chain' | 'recordedRun'>;
}

/** Returns the current agent or, with an offset, the agent at that event. Throws `busy` before one is resolved, and `history_removed`. */
export async function pinnedAgent({ client, runId, reader }: ReadableRun, at?: number): Promise<PinnedAgent> {
  if (at === undefined) return { runId, snapshot: resolvedAgent(runId, (await reader.recordedRun()).state?.snapshot) };
  const executions = await reader.chain.executions();
  const holding = executions.findLast(({ firstOffset }) => firstOffset <= at);
  if (holding === undefined) throw eventsRemoved(runId, at, executions[0]?.firstOffset ?? at + 1);
  const read = await readExecution(client, runId, holding.executionId);
  if (read === undefined) throw eventsRemoved(runId, at, at + 1);
  return { runId, offset: at, snapshot: resolvedAgent(runId, agentAt(read.recorded, at)) };
}

function resolvedAgent(runId: string, snapshot: AgentSnapshot | undefined): AgentSnapshot {
  if (snapshot !== undefined) return snapshot;
  throw new LonghaulError('busy', `Run "${runId}" has not resolved its agent yet: ask again in a moment`);
}

/** What is known about a call so far, read from the newest execution back to the one that has the call. */
interface CollectedCall {
  decisions: NonNullable<Event['decision']>[];
  result?: CallDetails['result'];
  record?: StepResult['toolCalls'][number];
  step?: number;
  waiting?: CallDetails['waiting'];
}

/** Reads the newest call of a run with this id. Throws `call_not_found`, or `history_removed` if the server may have removed it. */
export async function callDetails({ client, runId, reader }: ReadableRun, callId: string): Promise<CallDetails> {
  const found: CollectedCall = { decisions: [] };
  const executions = await reader.chain.executions();
  const { closed } = await reader.chain.newest();
  for (const { executionId } of executions.toReversed()) {
    const read = await readExecution(client, runId, executionId);
    if (read === undefined) break;
    const isNewest = executionId === executions.at(-1)?.executionId;
    if (isNewest && !closed) Object.assign(found, defined({ waiting: waitingCall(read, callId) }));
    const place = collect(found, read, callId);
    if (place !== undefined) return detailsOf(runId, found, { ...place, agent: agentAt(read.recorded, place.offset) });
  }
  const [first] = executions;
  if (first !== undefined && first.firstOffset > 0) throw eventsRemoved(runId, 0, first.firstOffset);
  throw new LonghaulError('call_not_found', `Run "${runId}" has no call "${callId}": its steps list the calls that it has made`);
}

/** Returns the pending decision about a call, with the arguments that it applies to: a gate may have changed the model's. */
function waitingCall({ run: { state } }: ReadExecution, callId: string): CallDetails['waiting'] {
  return state === undefined ? undefined : approvalViews(state, { isWhole: true }).find((one) => one.callId === callId);
}

interface CallPlace {
  call: ToolCall;
  event: Event;
  offset: number;
}

/** Adds what an execution says about a call, and returns the place of the call if this execution has it. */
function collect(found: CollectedCall, { events, steps, firstOffset }: ReadExecution, callId: string): CallPlace | undefined {
  let place: CallPlace | undefined;
  const here: CollectedCall = { decisions: [] };
  for (const [index, event] of events.entries()) {
    const offset = firstOffset + index;
    const { content, decision, timestamp } = event;
    for (const item of content) {
      if (isToolCall(item) && item.toolCallId === callId) {
        place = { call: item, event, offset };
        // An earlier call with this id has nothing to do with this one.
        here.decisions = [];
        delete here.result;
      } else if (item.type === 'tool_result' && item.toolCallId === callId) {
        const { status, content: values, spilled, notes } = item;
        here.result = { status, content: values, ...defined({ spilled, notes }), offset, at: timestamp };
      }
    }
    if (decision?.callId === callId) here.decisions.push(decision);
  }
  found.decisions.unshift(...here.decisions);
  found.result ??= here.result;
  for (const { step, toolCalls } of steps) {
    const record = toolCalls.findLast((one) => one.callId === callId);
    if (record === undefined || (found.record !== undefined && found.step !== undefined && found.step > step)) continue;
    found.record = record;
    found.step = step;
  }
  return place;
}

function detailsOf(
  runId: string,
  { decisions, result, record, step, waiting }: CollectedCall,
  { call, event, offset, agent }: CallPlace & { agent: AgentSnapshot | undefined },
): CallDetails {
  const tool = agent?.tools.find(({ name }) => name === call.name);
  const edited = record?.arguments ?? decisions.findLast(({ type }) => type === 'approve')?.arguments;
  const isEdited = edited !== undefined && canonicalJson(edited) !== canonicalJson(call.arguments);
  return {
    runId,
    callId: call.toolCallId,
    toolName: call.name,
    ...defined({ toolVersion: tool?.version }),
    agentName: event.author,
    ...defined({ step }),
    offset,
    requestedAt: event.timestamp,
    ...defined({ caller: event.caller, description: tool?.description, schema: tool?.schema, category: tool?.category }),
    arguments: call.arguments,
    ...(isEdited ? { ranWith: edited } : {}),
    ...defined({ waiting }),
    decisions,
    ...defined({ result }),
    ...(record === undefined ? {} : callFacts(record)),
  };
}

/** Bytes of a question or an answer in a list: an entry has at most 2 kB. */
const TEXT_BYTES = 300;

/** The characters of a message that are read. */
const READ_CHARACTERS = 2_000;

/** The default number of turns of a page. */
export const DEFAULT_TURNS = 50;

/** The options of a list of turns. */
export interface TurnsOptions {
  /** The first turn, from 1. Default 1. */
  from?: number;
  /** The maximum number of turns. Default 50. */
  limit?: number;
}

/** Reads a page of the turns of a session. Throws `invalid_input` for a run that is not a session, and `history_removed`. */
export async function turnsPage(
  { client, runId, reader }: Pick<ReadableRun, 'client' | 'runId'> & { reader: Pick<RunReader, 'chain'> },
  { from = 1, limit = DEFAULT_TURNS }: TurnsOptions = {},
): Promise<TurnsPage> {
  const executions = await reader.chain.executions();
  // A turn may have begun in the execution before the one in which it ends.
  const beginning =
    executions[
      Math.max(
        0,
        executions.findLastIndex(({ firstTurn }) => firstTurn < from),
      )
    ];
  if (beginning === undefined) return { sessionId: runId, turns: [] };
  if (beginning.firstOffset > 0 && beginning.firstTurn >= from) throw eventsRemoved(runId, 0, beginning.firstOffset);
  const list = new TurnList(beginning.firstTurn, beginning.firstOffset > 0);
  for await (const read of readRun(client, runId, reader.chain, { fromOffset: beginning.firstOffset })) {
    const { events, firstOffset } = read;
    if (!isOfSession(read))
      throw new LonghaulError('invalid_input', `Run "${runId}" is not a session: it has no turns. Read its steps instead`);
    for (const [index, event] of events.entries()) list.add(event, firstOffset + index);
    if (list.ended.filter(({ turn }) => turn >= from).length > limit) break;
  }
  const turns = list.all.filter(({ turn }) => turn >= from);
  const next = turns[limit]?.turn;
  return { sessionId: runId, turns: turns.slice(0, limit), ...defined({ next }) };
}

/** True for an execution of a session. Before its first task, only its input says so. */
function isOfSession({ run: { state }, recorded }: ReadExecution): boolean {
  return state === undefined ? recorded.input?.session !== undefined : sessionOf(state) !== undefined;
}

/** The turns of a session, folded from its events. */
class TurnList {
  readonly ended: TurnEntry[] = [];
  #number: number;
  /** True if the record begins in the middle of a turn. */
  #isCut: boolean;
  #current: TurnEntry | undefined;
  #usage = noUsage();

  constructor(firstTurn: number, isCut: boolean) {
    this.#number = firstTurn;
    this.#isCut = isCut;
  }

  /** All turns, including the current one. */
  get all(): TurnEntry[] {
    return this.#current === undefined ? this.ended : [...this.ended, this.#current];
  }

  add(event: Event, offset: number): void {
    const { turn: end, content, given, timestamp } = event;
    // Titles, raised limits and so on may be recorded between two turns.
    if (this.#current === undefined && (given || content.length === 0) && end === undefined) return;
    const turn = (this.#current ??= this.#begun(offset, timestamp));
    turn.events += 1;
    this.#usage = addUsageOfEvent(this.#usage, event);
    turn.tokens = this.#usage.totalTokens + (this.#usage.estimated?.totalTokens ?? 0);
    if (completesStep(event)) turn.steps += 1;
    if (turn.question === undefined) Object.assign(turn, defined({ question: textOf(content, 'user') }));
    if (isResponse(event)) Object.assign(turn, defined({ answer: textOf(content, 'assistant') }));
    if (end === undefined) return;
    const { number, status, stopReason, error } = end;
    Object.assign(turn, {
      turn: number,
      status,
      stopReason,
      endTime: timestamp,
      ...defined({ error: error && oneLine(error, TEXT_BYTES) }),
    });
    if (!this.#isCut) this.ended.push(turn);
    this.#isCut = false;
    this.#number = number + 1;
    this.#current = undefined;
  }

  #begun(firstOffset: number, startTime: string): TurnEntry {
    this.#usage = noUsage();
    return { turn: this.#number, startTime, firstOffset, events: 0, steps: 0, tokens: 0 };
  }
}

/** Returns the beginning of the first message of a role, or undefined. */
function textOf(content: readonly ContentItem[], role: 'user' | 'assistant'): string | undefined {
  const message = content.find((item) => item.type === 'message' && item.role === role);
  if (message?.type !== 'message') return undefined;
  const text = oneLine(outputText(message.content).slice(0, READ_CHARACTERS), TEXT_BYTES);
  return text === '' ? undefined : text;
}
