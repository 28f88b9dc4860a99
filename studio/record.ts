import type { ContentItem, Decision, Event, StepResult, StreamItem } from './api-types.ts';
import { decisionText, noted, type NoteText, noteTexts } from './notes.ts';
import { TEXTS } from './texts.ts';

// The record of a run as rows: what a person reads, in the order in which it happened.

export type ToolCall = Extract<ContentItem, { type: 'tool_call' }>;
export type ToolResult = Extract<ContentItem, { type: 'tool_result' }>;
type Message = Extract<ContentItem, { type: 'message' }>;

/** A call, with what people have decided about it, its result once there is one, and what the step says about it. */
export interface CallRow {
  call: ToolCall;
  decisions: Decision[];
  result?: ToolResult;
  record?: StepResult['toolCalls'][number];
}

/** One row of the record. */
export type Row =
  | { kind: 'message'; key: string; event: Event; messages: Message[] }
  | AnswerRow
  | { kind: 'note'; key: string; event: Event; texts: NoteText[] };

/** An answer of a model. */
export interface AnswerRow {
  kind: 'answer';
  key: string;
  event: Event;
  /** The number of the step; in the run of a program, whose steps have addresses, that of the answer. */
  number: number;
  /** The address of the step of a program. */
  at?: string;
  text: string;
  calls: CallRow[];
  step?: StepResult;
  handedFrom?: string;
}

/** What the model writes at this moment: it is provisional. */
export interface LiveAnswer {
  eventId: string;
  step: number;
  text: string;
  reasoning: string;
  /** The arguments of calls so far, as text. */
  inputs: Map<string, { name: string; text: string }>;
}

/** The record of a run, as far as it has come. */
export class RunRecord {
  readonly rows: Row[] = [];
  live: LiveAnswer | undefined;
  status = '';
  result: Extract<StreamItem, { type: 'end' }>['result'] | undefined;
  /** Set if the server has ended the run, which has no result then: how, and by whom. */
  outside: { status: string; text: string } | undefined;
  /** The number of rows that are answers. */
  answers = 0;
  /** Changes with the rows, and not with what the model writes at this moment. */
  revision = 0;
  #steps = 0;
  #agent: string | undefined;
  readonly #calls = new Map<string, CallRow>();
  readonly #answers = new Map<number, AnswerRow>();
  #next = 0;

  /** True once the run has ended, by itself or not. */
  get isOver(): boolean {
    return this.result !== undefined || this.outside !== undefined;
  }

  /** True once the stream has brought what was recorded before: a status comes after it. */
  get isRead(): boolean {
    return this.status !== '' || this.isOver;
  }

  /** Takes what a stream has brought. */
  take(items: readonly StreamItem[]): void {
    for (const item of items) this.#take(item);
  }

  #take(item: StreamItem): void {
    switch (item.type) {
      case 'event':
        // A stream that continues may bring an event again.
        if (item.offset >= this.#next) this.#event(item.event, item.offset);
        this.#next = Math.max(this.#next, item.offset + 1);
        break;
      case 'step':
        this.#step(item.step);
        break;
      case 'delta':
        this.#delta(item);
        break;
      case 'reset':
        if (item.callId === undefined) this.live = undefined;
        break;
      case 'status':
        this.status = item.status;
        break;
      case 'end':
        this.live = undefined;
        this.status = item.result.status;
        this.result = item.result;
        break;
      case 'gap':
        break;
    }
  }

  #event(event: Event, offset: number): void {
    this.revision += 1;
    const key = String(offset);
    if (event.id === this.live?.eventId) this.live = undefined;
    const { content } = event;
    const calls = content.filter((one) => one.type === 'tool_call').map((call): CallRow => ({ call, decisions: [] }));
    const results = content.filter((one) => one.type === 'tool_result');
    const messages = content.filter((one) => one.type === 'message');
    for (const one of calls) this.#calls.set(one.call.toolCallId, one);
    for (const result of results) {
      const found = this.#calls.get(result.toolCallId);
      if (found !== undefined) found.result = result;
    }
    const rest = messages.length > 0 ? { kind: 'message' as const, key, event, messages } : undefined;
    const row = this.#answer(event, key, { calls, messages }) ?? rest;
    if (row !== undefined) this.rows.push(row);
    const decided = event.decision && this.#calls.get(event.decision.callId);
    if (event.decision !== undefined) decided?.decisions.push(event.decision);
    const texts = noteTexts(event, { isInCall: decided !== undefined });
    if (texts.length > 0) this.rows.push({ kind: 'note', key: `${key}!`, event, texts });
  }

  /** Returns the row of an answer of a model, or of calls that no model has asked for: those of code, and of steps of programs. */
  #answer(event: Event, key: string, { calls, messages }: { calls: CallRow[]; messages: Message[] }): AnswerRow | undefined {
    const { step } = noted(event);
    const isAnswer = isResponse(event) && event.given === undefined;
    if (!isAnswer && (calls.length === 0 || (event.caller !== 'code' && step === undefined))) return undefined;
    const number = (step === undefined ? this.#steps : this.answers) + 1;
    const row: AnswerRow = { kind: 'answer', key, event, number, text: messages.map(messageText).join('\n'), calls };
    if (step === undefined) this.#placeOfAgent(row, isAnswer);
    else row.at = step.at;
    this.answers += 1;
    return row;
  }

  /** Notes whose answer it is, and of which step. */
  #placeOfAgent(row: AnswerRow, isAnswer: boolean): void {
    const { author } = row.event;
    if (this.#agent !== undefined && this.#agent !== author) row.handedFrom = this.#agent;
    this.#agent = author;
    if (isAnswer) this.#answers.set(row.number, row);
  }

  #step(step: StepResult): void {
    this.revision += 1;
    this.#steps = Math.max(this.#steps, step.step);
    const row = this.#answers.get(step.step);
    if (row !== undefined) row.step = step;
    for (const record of step.toolCalls) {
      const call = this.#calls.get(record.callId);
      if (call !== undefined) call.record = record;
    }
  }

  #delta({ step, eventId, callId, delta }: Extract<StreamItem, { type: 'delta' }>): void {
    if (callId !== undefined || delta.type === 'data') return;
    if (this.live?.eventId !== eventId) this.live = { eventId, step, text: '', reasoning: '', inputs: new Map() };
    if (delta.type === 'text') this.live.text += delta.text;
    else if (delta.type === 'reasoning') this.live.reasoning += delta.text;
    else {
      const input = this.live.inputs.get(delta.callId) ?? { name: delta.toolName, text: '' };
      this.live.inputs.set(delta.callId, { ...input, text: input.text + delta.text });
    }
  }
}

/** True for the event of an answer of a model. */
export function isResponse({ usage, compaction, title, failed }: Event): boolean {
  return usage !== undefined && compaction === undefined && title === undefined && failed === undefined;
}

/** Returns the text of a message; media as what they are, never loaded. */
export function messageText({ content }: { content: Message['content'] }): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : mediaText(part))).join('\n');
}

interface Media {
  type: string;
  url?: string;
  mediaType?: string;
  data?: string;
  name?: string;
  spilled?: { bytes: number };
}

const MEDIA = new Set(['image', 'audio', 'video', 'file']);

/** The members of media. What has others, too, is data of a tool that calls itself a file. */
const MEDIA_MEMBERS = new Set(['type', 'url', 'mediaType', 'data', 'name', 'spilled', 'width', 'height', 'format']);

/** Returns a part of a message or of a result as what it is, if it is a picture, a sound, a film or a file: its bytes say nothing to a reader. */
export function mediaOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const part = value as Media;
  const isMedia = MEDIA.has(part.type) && (typeof part.data === 'string' || typeof part.url === 'string' || part.spilled !== undefined);
  return isMedia && Object.keys(value).every((key) => MEDIA_MEMBERS.has(key)) ? mediaText(part) : undefined;
}

function mediaText({ type, url, mediaType, data, name, spilled }: Media): string {
  const bytes = data === undefined ? spilled?.bytes : bytesIn(data);
  const facts = [mediaType, name, url?.startsWith('data:') ? `${url.slice(0, SHOWN_OF_DATA)}…` : url];
  const size = bytes === undefined ? undefined : TEXTS.notes.bytes(bytes);
  return `[${[type, ...facts, size].filter((fact) => fact !== undefined).join(', ')}]`;
}

/** Characters of an address that has its content in it. */
const SHOWN_OF_DATA = 40;

/** Returns the number of bytes that base64 stands for. */
function bytesIn(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}

/** Returns everything that a row says, for the search. */
export function rowText(row: Row): string {
  if (row.kind === 'note') return row.texts.map(({ text }) => text).join('\n');
  if (row.kind === 'message') return row.messages.map(messageText).join('\n');
  return [row.text, ...row.calls.flatMap(callTexts)].join('\n');
}

function callTexts({ call, decisions, result, record }: CallRow): string[] {
  return [
    JSON.stringify([call.name, call.arguments, record?.arguments, result?.content.map((one) => mediaOf(one) ?? one), result?.notes]),
    ...decisions.map(decisionText),
  ];
}

/** Returns the arguments that a call ran with, if a person or a hook has changed those that the model had proposed. */
export function ranWith({ call, decisions, record }: CallRow): object | undefined {
  const ran = record?.arguments ?? decisions.findLast(({ type }) => type === 'approve')?.arguments;
  return ran === undefined || record?.notRun !== undefined || JSON.stringify(ran) === JSON.stringify(call.arguments) ? undefined : ran;
}
