import type { ResponseOutputItem } from 'openai/resources/responses/responses';
import type { StreamItem } from '../../../client/stream/stream-item.ts';
import { type AnswerChange, AnswerReducer } from '../../../client/stream/stream-view.ts';
import { outputText } from '../../../core/domain/content.ts';
import type { JsonObject } from '../../../core/domain/json.ts';
import { type Event, isResponse } from '../../../core/domain/record.ts';
import { type EndedRun, modelRefusal, wasBlocked, wasCutOff } from './errors.ts';
import {
  entriesOf,
  isOutput,
  type ItemEvent,
  type LifeEvent,
  type OutputEntry,
  responseBody,
  type ResponseBody,
  type ResponseFacts,
  type WireEvent,
} from './response-body.ts';
import {
  type Closing,
  FIRST_UNIT,
  isMarkedTag,
  isSameText,
  isSameWholeText,
  Numbering,
  OpenText,
  type Piece,
  type SequencePlace,
  tagOf,
  textItemId,
  type TextKind,
} from './response-text.ts';

type Message = OutputEntry & { type: 'message' };

/** The options of the events of a response. */
export interface ResponseEventOptions {
  /** The last event that the reader has received: only later ones are made. */
  after?: SequencePlace | undefined;
}

/** The name in the tags of events of the response itself. */
const RESPONSE = 'response';

/**
 * Turns the stream of a run, from its beginning, into the events of a response. Each number depends only on the record and on the
 * provisional items that the reader was shown, so that another process can continue after any of them.
 */
export class ResponseEvents {
  readonly #facts: ResponseFacts;
  readonly #numbering: Numbering;
  readonly #answers = new AnswerReducer();
  /** The items that the record holds. */
  readonly #output: ResponseOutputItem[] = [];
  readonly #calls = new Map<string, OpenCall>();
  /** The arguments that approvers chose, by call. */
  readonly #edits = new Map<string, JsonObject>();
  /** The ids of messages that were discarded. */
  readonly #takenBack = new Set<string>();
  /** Text that no event holds yet. `isHidden`: the reader has already received it, or something else in its place. */
  #live: { item: OpenText; isHidden: boolean } | undefined;
  /** A text that is the answer if the run ends with it. Without an item, it is held back. */
  #pending: { message: Message; item?: OpenText } | undefined;
  /** The number of recorded messages that a check has blocked. They were shown, but are not part of the output. */
  #blocked = 0;
  #lastFinish: string | undefined;
  #result: EndedRun | undefined;

  constructor(facts: ResponseFacts, { after }: ResponseEventOptions = {}) {
    this.#facts = facts;
    this.#numbering = new Numbering(after);
  }

  /** The recorded part of the response. */
  get response(): ResponseBody {
    return responseBody(this.#facts, [...this.#output], this.#result, this.#lastFinish);
  }

  /** Begins the stream. */
  *begin(): Generator<WireEvent> {
    yield* this.#life('response.created', 0);
    yield* this.#life('response.in_progress', 1);
  }

  /** Makes the events for an item of the run's stream. */
  *take(item: StreamItem): Generator<WireEvent> {
    for (const change of this.#answers.take(item)) yield* this.#change(change);
  }

  *#change(change: AnswerChange): Generator<WireEvent> {
    switch (change.type) {
      case 'text':
        return yield* this.#piece('message', change);
      case 'reasoning':
        return yield* this.#piece('reasoning', change);
      case 'reset':
        return yield* this.#takeBack();
      case 'settled':
        return yield* this.#event(change.event);
      case 'step':
        this.#lastFinish = change.step.finishReason;
        return;
      case 'end':
        return yield* this.end(change.result);
      case 'call_begins':
      case 'call_arguments':
      case 'data':
      case 'sent_back':
        return;
    }
  }

  *#piece(kind: TextKind, { answer: { eventId }, text }: AnswerChange & { type: 'text' | 'reasoning' }): Generator<WireEvent> {
    yield* this.#resolve('commentary');
    const live = this.#live?.item;
    // A model that reasons again in the middle of its text is rare: that part is left out.
    if (live?.eventId === eventId && live.kind === 'message' && kind === 'reasoning') return;
    if (live?.eventId !== eventId || live.kind !== kind) yield* this.#takeBack(eventId);
    if (this.#live === undefined) {
      // Of parallel calls, which only a program makes, one is shown as it arrives.
      if (this.#numbering.isFull || this.#takenBack.has(textItemId(kind, eventId))) return;
      this.#live = { item: this.#opened(kind, eventId), isHidden: this.#numbering.isPast || this.#numbering.here !== undefined };
      yield* this.#liveEvents(this.#live.item.begin());
    }
    yield* this.#liveEvents(this.#live.item.addLive(text));
  }

  /** Shows live text, unless the reader has received something else here: then it waits for the event, which shows what is left. */
  *#liveEvents(pieces: Piece[]): Generator<WireEvent> {
    const live = this.#live;
    const { here } = this.#numbering;
    if (live === undefined) return;
    if (live.isHidden && here !== undefined && isSameText(live.item, here) === true) live.isHidden = false;
    if (!live.isHidden) yield* this.#numbered(pieces);
  }

  /** Ends the live text, which no recorded event holds. `eventId`: the event of what comes next. */
  *#takeBack(eventId?: string): Generator<WireEvent> {
    const live = this.#live;
    if (live === undefined) return;
    this.#live = undefined;
    const { item } = live;
    const { here } = this.#numbering;
    if (live.isHidden && (here === undefined || !isSameWholeText(item, here))) return;
    const isDone = item.kind === 'reasoning' && item.eventId === eventId;
    yield* this.#numbered(item.end({ status: isDone ? 'completed' : 'incomplete' }));
    this.#takenBack.add(item.id);
    this.#numbering.countProvisional();
  }

  #opened(kind: TextKind, eventId: string, marked = this.#takenBack.has(textItemId(kind, eventId))): OpenText {
    return new OpenText({ kind, eventId, index: this.#nextIndex(), isMarked: marked });
  }

  #nextIndex(): number {
    return this.#output.length + this.#blocked + this.#numbering.provisional;
  }

  *#event(event: Event): Generator<WireEvent> {
    const { decision } = event;
    if (decision?.arguments !== undefined) this.#edits.set(decision.callId, decision.arguments);
    // Calls that may hold a guarded answer are not shown, and so are their results.
    const entries = entriesOf(event).filter((entry) => entry.type !== 'result' || this.#calls.has(entry.callId));
    if (entries.length > 0) yield* this.#resolve('commentary');
    if (isResponse(event) && !entries.some(({ type }) => type === 'message')) yield* this.#takeBack(event.id);
    for (const entry of entries) {
      if (entry.type === 'message') yield* this.#message(entry);
      else if (entry.type === 'call') yield* this.#call(entry);
      else if (entry.type === 'result') yield* this.#endCall(entry.callId, entry);
    }
  }

  *#message(message: Message): Generator<WireEvent> {
    if (message.isGuarded && message.mayBeAnswer) {
      yield* this.#takeBack(message.eventId);
      this.#pending = { message };
      return;
    }
    const item = yield* this.#recorded(message);
    if (message.mayBeAnswer) this.#pending = { message, item };
    else yield* this.#endMessage(item, { status: message.isInterrupted ? 'incomplete' : 'completed', phase: 'commentary' });
  }

  /** Shows the text of an event: the rest of the live text, or all of it. */
  *#recorded({ eventId, text, sources }: Message, kind: TextKind = 'message'): Generator<WireEvent, OpenText> {
    const live = this.#live;
    const isOwn = live?.item.kind === kind && live.item.eventId === eventId && text.startsWith(live.item.text);
    if (isOwn) this.#live = undefined;
    else yield* this.#takeBack(eventId);
    const item = isOwn && !live.isHidden ? live.item : this.#openedInOrder({ kind, eventId, text });
    if (item !== live?.item) yield* this.#numbered(item.begin());
    yield* this.#numbered(item.add(text.slice(item.text.length)));
    item.cite(sources);
    this.#output.push(item.message({ status: 'completed' }));
    return item;
  }

  /** Returns the message of an event: the one that the reader had begun, or one after the item that it had begun in its place. */
  #openedInOrder(words: Pick<OpenText, 'kind' | 'eventId' | 'text'>): OpenText {
    const { kind, eventId } = words;
    const { here } = this.#numbering;
    if (here === undefined) return this.#opened(kind, eventId);
    if (isSameWholeText(words, here)) return this.#opened(kind, eventId, isMarkedTag(here.tag));
    this.#numbering.countProvisional();
    // The reader may know this id, with a text that was not recorded.
    return this.#opened(kind, eventId, true);
  }

  /** Counts the item that the reader had begun in place of an item without text. */
  #passOther(tag: number): void {
    const { here } = this.#numbering;
    if (here !== undefined && here.tag !== tag) this.#numbering.countProvisional();
  }

  *#endMessage(item: OpenText, closing: Closing): Generator<WireEvent> {
    yield* this.#numbered(item.end(closing));
    this.#output[this.#output.length - 1] = item.message(closing);
    this.#numbering.countGroup();
  }

  /** Decides the phase of the text that may be the answer. `isCutOff`: the model was cut off in it. */
  *#resolve(phase: NonNullable<Closing['phase']> | 'blocked', isCutOff = false): Generator<WireEvent> {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    if (phase === 'blocked') {
      if (pending.item === undefined) return;
      yield* this.#endMessage(pending.item, { status: 'incomplete', phase: 'commentary' });
      this.#output.pop();
      this.#blocked += 1;
      return;
    }
    const item = pending.item ?? (yield* this.#recorded(pending.message));
    yield* this.#endMessage(item, { status: isCutOff ? 'incomplete' : 'completed', phase });
  }

  *#call(entry: OutputEntry & { type: 'call' }): Generator<WireEvent> {
    this.#passOther(tagOf(callItemId(entry.callId)));
    const position = this.#output.length;
    const call = new OpenCall(entry, { index: this.#nextIndex(), position, server: this.#facts.agent });
    this.#calls.set(entry.callId, call);
    this.#output.push(call.item('in_progress'));
    yield* this.#numbered(call.begin());
    this.#numbering.countGroup();
  }

  *#endCall(callId: string, result: (OutputEntry & { type: 'result' }) | undefined): Generator<WireEvent> {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    this.#calls.delete(callId);
    this.#passOther(tagOf(call.id));
    const { item, pieces } = call.end(result, this.#edits.get(callId));
    this.#output[call.position] = item;
    yield* this.#numbered(pieces);
    this.#numbering.countGroup();
  }

  /** Makes the last events. */
  *end(result: EndedRun): Generator<WireEvent> {
    yield* this.#takeBack();
    const refusal = modelRefusal(result);
    const isAnswer = refusal === undefined && this.#pending !== undefined && isOutput(this.#pending.message.text, result.output);
    const phase = isAnswer ? 'final_answer' : 'commentary';
    // Text that was held back for checks has not passed them if the run ended in another way.
    const isUnchecked = this.#pending?.message.isGuarded === true && !isAnswer && result.status !== 'completed';
    const isBlocked = wasBlocked(result) || isUnchecked;
    yield* this.#resolve(isBlocked ? 'blocked' : phase, isAnswer && wasCutOff(result, this.#lastFinish));
    for (const callId of this.#calls.keys()) yield* this.#endCall(callId, undefined);
    const isToldApart = result.status === 'completed' ? !isAnswer : wasBlocked(result);
    if (refusal !== undefined) yield* this.#lastMessage(refusal, 'refusal');
    else if (isToldApart) yield* this.#lastMessage(outputText(result.output), 'message');
    this.#result = result;
    this.#passOther(tagOf(RESPONSE));
    const { status } = this.response;
    yield* this.#life(
      status === 'completed' ? 'response.completed' : status === 'failed' ? 'response.failed' : 'response.incomplete',
      FIRST_UNIT,
    );
  }

  /** Shows a text that no recorded text has: a value from a call, or the message of a check or a refusal. */
  *#lastMessage(text: string, kind: TextKind): Generator<WireEvent> {
    if (text === '') return;
    const message: Message = {
      type: 'message',
      eventId: this.#facts.runId,
      text,
      mayBeAnswer: true,
      isInterrupted: false,
      isGuarded: false,
    };
    const item = yield* this.#recorded(message, kind);
    yield* this.#endMessage(item, { status: 'completed', phase: 'final_answer' });
  }

  *#numbered(pieces: readonly Piece[]): Generator<WireEvent> {
    for (const { event, text, ...place } of pieces) {
      const number = this.#numbering.next(place);
      if (number === undefined) continue;
      const got = this.#numbering.here?.unit ?? 0;
      const sent: ItemEvent = text !== undefined && got > text.from ? text.cut(got - text.from) : event;
      yield { ...sent, sequence_number: number };
    }
  }

  *#life(type: LifeEvent['type'], unit: number): Generator<WireEvent> {
    const number = this.#numbering.next({ unit, tag: tagOf(RESPONSE) });
    if (number !== undefined) yield { type, response: this.response, sequence_number: number };
  }
}

/** A call of a tool of the agent, as an item of the output. The package has no other item for calls that the service makes itself. */
type CallItem = ResponseOutputItem.McpCall;

type Call = OutputEntry & { type: 'call' };

/** A call whose result has not been recorded. It makes the events of its item. */
class OpenCall {
  readonly id: string;
  readonly index: number;
  /** The position of its item among the recorded ones. */
  readonly position: number;
  readonly #call: Call;
  readonly #server: string;

  /** `server`: the agent, whose worker makes the call. */
  constructor(call: Call, { index, position, server }: { index: number; position: number; server: string }) {
    this.id = callItemId(call.callId);
    this.index = index;
    this.position = position;
    this.#call = call;
    this.#server = server;
  }

  begin(): Piece[] {
    const at = { item_id: this.id, output_index: this.index };
    const { arguments: text } = this.#call;
    const events = [
      { type: 'response.output_item.added', output_index: this.index, item: { ...this.item('in_progress'), arguments: '' } },
      { type: 'response.mcp_call.in_progress', ...at },
      { type: 'response.mcp_call_arguments.delta', ...at, delta: text },
      { type: 'response.mcp_call_arguments.done', ...at, arguments: text },
    ] as const;
    return this.#pieces(events);
  }

  /** Ends the item, with the result of the call or without one. `edited`: the arguments that an approver chose. */
  end(result: (OutputEntry & { type: 'result' }) | undefined, edited: JsonObject | undefined): { item: CallItem; pieces: Piece[] } {
    const item = { ...this.#ended(result), ...(edited === undefined ? {} : { arguments: JSON.stringify(edited) }) };
    const at = { item_id: this.id, output_index: this.index };
    const type = item.status === 'completed' ? 'response.mcp_call.completed' : 'response.mcp_call.failed';
    const events = [
      { type, ...at },
      { type: 'response.output_item.done', output_index: this.index, item },
    ] as const;
    return { item, pieces: this.#pieces(events) };
  }

  /** Returns the item without a result. */
  item(status: 'in_progress' | 'incomplete'): CallItem {
    const { name, arguments: text } = this.#call;
    return { id: this.id, type: 'mcp_call', server_label: this.#server, name, arguments: text, output: null, error: null, status };
  }

  #pieces(events: readonly Piece['event'][]): Piece[] {
    return events.map((event, number) => ({ unit: FIRST_UNIT + number, tag: tagOf(this.id), event }));
  }

  #ended(result: (OutputEntry & { type: 'result' }) | undefined): CallItem {
    if (result === undefined) return this.item('incomplete');
    const { output, isError } = result;
    if (!isError) return { ...this.item('incomplete'), status: 'completed', output };
    return { ...this.item('incomplete'), status: 'failed', error: { type: 'mcp_tool_execution_error', content: output } };
  }
}

function callItemId(callId: string): string {
  return `mcp_${callId}`;
}
