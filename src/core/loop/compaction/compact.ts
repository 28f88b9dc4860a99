// Model phase: shortens the window before a model call.

import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import type { ContentItem } from '../../domain/content/content.ts';
import { extendWindow, type Window, windowEventBytes } from '../../domain/record/window.ts';
import { endCancelled, endFailed } from '../endings/endings.ts';
import type { NextStep } from '../next-step.ts';
import { recalledBefore, recalledBeforeTurn } from './recalled-events.ts';
import { headOf, planEviction, planSummary, planUnseenEviction, type SummaryRange } from './plan-compaction.ts';
import type { RunPorts } from '../ports.ts';
import { recordEvent, type RunState } from '../state/run-state.ts';
import { recordFailedCall, recordInterrupted, spend } from '../state/spending.ts';
import { isSkillText, loadedSkillsLine } from '../skills/active-skills.ts';
import { windowLimit } from './window-limit.ts';

/** The part of the limit to which a full window is compacted, so that many steps pass before the next compaction. */
const GOAL = 0.5;

/** The part of the limit above which the older events are summarised, if eviction alone leaves more. */
const ENOUGH = 0.75;

/** The part of the limit that the newest events of any kind may take beside a summary. */
const TAIL = 0.25;

/** The part of the limit that a summary may take, and the smallest budget of a summary. */
const SUMMARY = 0.125;
const LEAST_SUMMARY_BYTES = 200;

type Evicted = ReturnType<typeof planEviction>;

/** Bytes of the event of a summary beside its text. */
const SUMMARY_EVENT_BYTES = 100;

/** True if the window is larger than its limit. */
export function isWindowFull(state: RunState, ports: RunPorts): boolean {
  const limit = windowLimit(state);
  return limit !== undefined && state.window.bytes > limit && ports.allows('compaction');
}

/**
 * Brings a full window back within its bounds: drops what was recalled from a memory, evicts old tool results, then summarises the
 * older part of the conversation. Each of the three is recorded as an event. Returns the end of the run if even that is not enough.
 */
export async function compactWindow(state: RunState, ports: RunPorts): Promise<NextStep | undefined> {
  const limit = windowLimit(state) ?? Infinity;
  const ended = await compact(state, ports, limit);
  if (ended !== undefined) return ended;
  const left = windowLimit(state) ?? limit;
  return state.window.bytes <= left ? undefined : endFailed(state, 'context_length_exceeded', doesNotFit(state, left));
}

function doesNotFit({ runId, snapshot, window }: RunState, limit: number): string {
  const agent = `agent "${snapshot.name}"`;
  return limit <= 0
    ? `The instructions and tools of ${agent} leave no room for the conversation of run "${runId}": raise "window", or shorten them`
    : `The conversation of run "${runId}" does not fit the window of ${agent}: ${window.bytes} bytes, over ${limit}, and nothing more can be taken out. ` +
        'Raise "window", or ask for less at a time';
}

/**
 * Compacts a conversation that the provider refused as too long, to well below its current size. Undefined if nothing could be
 * taken out.
 */
export async function shortenConversation(state: RunState, ports: RunPorts): Promise<'shortened' | NextStep | undefined> {
  if (state.snapshot.window === undefined || !ports.allows('compaction')) return undefined;
  const { bytes } = state.window;
  const ended = await compact(state, ports, Math.floor(bytes * ENOUGH));
  return ended ?? (state.window.bytes < bytes ? 'shortened' : undefined);
}

/**
 * Replaces all of a conversation but its newest message by a summary, for a provider that refuses it as it is. Undefined if nothing could
 * be replaced, or the summary failed.
 */
export async function summariseEarlier(state: RunState, ports: RunPorts): Promise<'summarised' | NextStep | undefined> {
  const { events, bytes } = state.window;
  const newest = events.at(-1);
  const isMessage = newest?.content.every((item) => item.type === 'message' && item.role === 'user') === true;
  const earlier = isMessage ? events.slice(0, -1) : events;
  if (earlier.length === 0 || state.snapshot.window?.summarise !== true) return undefined;
  const range = { head: null, tail: isMessage ? newest.offset : null, events: earlier.length };
  const ended = await summariseRange(state, ports, range, summaryBytes(bytes));
  if (ended === undefined) return 'summarised';
  return ended.ending.status === 'error' ? undefined : ended;
}

/**
 * Compacts the window. Results that the model has not seen are evicted last, and only if they do not fit beside a summary of all
 * the rest.
 */
async function compact(state: RunState, ports: RunPorts, limit: number): Promise<NextStep | undefined> {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  const { keepResults } = policy;
  drop(state, ports, recalledBeforeTurn(state.window));
  const isLast = (item: ContentItem): boolean => isSkillText(state.snapshot, item);
  const old = (): Evicted => planEviction(state.window, { bytes: limit * GOAL, keepResults, keepFrom: state.seenEvents, isLast });
  if (policy.summarise) {
    const bounds = { mostBytes: roomBeside(state, limit), goalBytes: limit * GOAL, isLast };
    evict(state, ports, planUnseenEviction(state.window, state.seenEvents, bounds));
    // Events to summarise are not evicted before: a summary of markers would be empty.
    const isEnough = (): boolean => bytesWithout(state.window, old()) <= limit * ENOUGH;
    // What was recalled is in the memory still: no summary repeats it.
    if (!isEnough()) drop(state, ports, recalledBefore(state.window, state.seenEvents));
    const ended = isEnough() ? undefined : await summarise(state, ports, limit);
    if (ended !== undefined) return ended;
  }
  if (state.window.bytes > limit) drop(state, ports, recalledBefore(state.window, state.seenEvents));
  if (state.window.bytes > limit * ENOUGH) evict(state, ports, old());
  if (state.window.bytes > limit) {
    evict(state, ports, planEviction(state.window, { bytes: limit * ENOUGH, keepResults: 0, keepFrom: state.seenEvents, isLast }));
    evict(state, ports, planEviction(state.window, { bytes: limit, keepResults: 0, keepFrom: Infinity, isLast }));
  }
  return undefined;
}

/** Returns the bytes of the window after an eviction. */
function bytesWithout(window: Window, evicted: Evicted): number {
  return extendWindow(window, { id: '', author: '', content: [], compaction: { evicted } }).bytes;
}

function drop(state: RunState, ports: RunPorts, dropped: number[]): void {
  if (dropped.length > 0) recordCompaction(state, ports, { content: [], compaction: { dropped } });
}

function evict(state: RunState, ports: RunPorts, evicted: Evicted): void {
  if (evicted.length > 0) recordCompaction(state, ports, { content: [], compaction: { evicted } });
}

/** Returns the bytes that are left of `limit` beside the first message and a summary. */
function roomBeside({ window, session }: RunState, limit: number): number {
  const head = (session === undefined ? headOf(window.events) : []).reduce((bytes, event) => bytes + windowEventBytes(event), 0);
  return limit - head - summaryBytes(limit) - SUMMARY_EVENT_BYTES;
}

/** Returns the bytes that the text of a summary may have. */
function summaryBytes(limit: number): number {
  return Math.min(BYTE_BUDGETS.summary, Math.max(LEAST_SUMMARY_BYTES, Math.floor(limit * SUMMARY)));
}

async function summarise(state: RunState, ports: RunPorts, limit: number): Promise<NextStep | undefined> {
  const maxBytes = summaryBytes(limit);
  const unseenBytes = roomBeside(state, limit);
  const keptBytes = unseenBytes - limit * (1 - ENOUGH);
  const range = planSummary(state.window, {
    tailBytes: Math.min(limit * TAIL, keptBytes),
    keptBytes,
    keepResults: state.snapshot.window?.keepResults ?? 0,
    unseenBytes,
    unseenFrom: state.seenEvents,
    leastBytes: maxBytes + SUMMARY_EVENT_BYTES,
    // What a conversation of months began with is not what it is about.
    isWhole: state.session !== undefined,
  });
  return range === undefined ? undefined : await summariseRange(state, ports, range, maxBytes);
}

/** Replaces a part of the window by a summary. Returns the end of the run if there is none. */
async function summariseRange(
  state: RunState,
  ports: RunPorts,
  range: SummaryRange,
  maxBytes: number,
): Promise<Extract<NextStep, { type: 'finish' }> | undefined> {
  const { through, lastEventId } = state.window;
  const outcome = await ports.summarise({ through, lastEventId, ...range, maxBytes });
  const model = state.snapshot.window?.summaryModel ?? state.snapshot.model;
  if (outcome.type === 'cancelled') {
    if (outcome.partial) recordInterrupted(state, ports, model, outcome.partial);
    return endCancelled(state);
  }
  if (outcome.type === 'failed') {
    recordFailedCall(state, ports, model, outcome);
    return endFailed(state, outcome.code, `The conversation could not be summarised: ${outcome.message}`);
  }
  const { id, text, usage, failedAttempts, hooks } = outcome;
  const spending = spend(state, { model, usage, answer: text, failedAttempts });
  const { head, tail } = range;
  const content: ContentItem[] = [
    { type: 'message', role: 'user', content: `Summary of the conversation so far:\n${text}${loadedSkillsLine(state)}` },
  ];
  recordCompaction(state, ports, {
    id,
    ...spending,
    content,
    compaction: { summarised: { head, tail }, ...(hooks === undefined ? {} : { hooks }) },
  });
  return undefined;
}

/** Records a compaction, and drops the provider's token count of the window before it. */
function recordCompaction(state: RunState, ports: RunPorts, event: Omit<Parameters<typeof recordEvent>[2], 'author'>): void {
  recordEvent(state, ports, { author: state.snapshot.name, ...event });
  delete state.measured;
}
