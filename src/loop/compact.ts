import type { ContentItem } from '../domain/content.ts';
import { cancelled, failed } from './endings.ts';
import type { NextStep } from './next-step.ts';
import { planEviction, planSummary } from './plan-compaction.ts';
import type { RunPorts } from './ports.ts';
import { recordEvent, recordUsage, type RunState } from './run-state.ts';
import { windowFullness } from './window-limit.ts';

/** Compaction begins at a full window and ends at this part of it, so that many steps pass before the next. */
const GOAL = 0.5;

/** Where eviction alone leaves more than this, the older part is summarised as well. */
const ENOUGH = 0.75;

/** The part of the limit that the newest events may take beside a summary. */
const TAIL = 0.25;

/**
 * Keeps the window within its bounds: evicts old tool results, then summarises the older part of the conversation.
 * Each is an event of the record. Gives the end of the run where even that is not enough.
 */
export async function compactIfNeeded(state: RunState, ports: RunPorts): Promise<NextStep | undefined> {
  const fullness = windowFullness(state);
  if (fullness === undefined || fullness.ratio <= 1 || !ports.allows('compaction')) return undefined;
  const ended = await compact(state, ports, fullness.limitBytes);
  if (ended !== undefined) return ended;
  const after = windowFullness(state);
  if (after === undefined || after.ratio <= 1) return undefined;
  return failed(
    state,
    'context_length_exceeded',
    `The conversation of run "${state.runId}" does not fit the window of agent "${state.snapshot.name}" (${Math.ceil(after.limitBytes)} bytes), ` +
      'even without its tool results: raise "window", or ask for less at a time',
  );
}

/** After the model has said that the conversation is too long: compacts it as if the window were as large as what it refused. Undefined where nothing could be taken out. */
export async function shorten(state: RunState, ports: RunPorts): Promise<'shortened' | NextStep | undefined> {
  if (state.snapshot.window === undefined || !ports.allows('compaction')) return undefined;
  const { bytes } = state.window;
  const ended = await compact(state, ports, bytes);
  return ended ?? (state.window.bytes < bytes ? 'shortened' : undefined);
}

async function compact(state: RunState, ports: RunPorts, limitBytes: number): Promise<NextStep | undefined> {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  const goal = { bytes: limitBytes * GOAL, keepResults: policy.keepResults };
  evict(state, ports, goal);
  if (state.window.bytes <= limitBytes * ENOUGH) return undefined;
  if (policy.summarise) {
    const ended = await summarise(state, ports, limitBytes * TAIL);
    if (ended !== undefined) return ended;
  }
  // The newest results go last: the model has not read them yet.
  if (state.window.bytes > limitBytes * ENOUGH) evict(state, ports, { ...goal, keepResults: 0 });
  return undefined;
}

function evict(state: RunState, ports: RunPorts, goal: Parameters<typeof planEviction>[1]): void {
  const evicted = planEviction(state.window, goal);
  if (evicted.length > 0) recordCompaction(state, ports, { content: [], compaction: { evicted } });
}

async function summarise(state: RunState, ports: RunPorts, tailBytes: number): Promise<NextStep | undefined> {
  const range = planSummary(state.window, tailBytes);
  if (range === undefined) return undefined;
  const { through, lastEventId } = state.window;
  const outcome = await ports.summarise({ through, lastEventId, ...range });
  if (outcome.type === 'cancelled') return cancelled(state);
  if (outcome.type === 'failed') return failed(state, outcome.code, `The conversation could not be summarised: ${outcome.message}`);
  recordUsage(state, outcome.usage);
  const { head, tail } = range;
  const content: ContentItem[] = [{ type: 'message', role: 'user', content: `Summary of the conversation so far:\n${outcome.text}` }];
  recordCompaction(state, ports, { id: outcome.id, usage: outcome.usage, content, compaction: { summarised: { head, tail } } });
  return undefined;
}

/** What was counted before a compaction does not hold any more. */
function recordCompaction(state: RunState, ports: RunPorts, event: Omit<Parameters<typeof recordEvent>[2], 'author'>): void {
  recordEvent(state, ports, { author: state.snapshot.name, ...event });
  delete state.measured;
}
