import { activityInfo } from '@temporalio/activity';
import { toolsFor } from '../../src/core/code/callers.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { CodeJournal } from '../../src/core/domain/code/journal.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../../src/core/domain/code/segment-messages.ts';
import type { ToolResult } from '../../src/core/domain/content/content.ts';
import { RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import { CALL_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import { inlineHooks } from '../../src/core/domain/hooks/hook-snapshot.ts';
import { attempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import { pinnedGuardrails } from '../guardrails/pinned-guardrails.ts';
import { requireHooks } from '../hooks/event-hooks.ts';
import { requirePredicate } from '../model-calls/approval-requirements.ts';
import { runKey } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { callsOutput } from './calls-output.ts';
import { endedEarly } from './clean-segment.ts';
import { codeExecutor } from './code-executor.ts';
import { endedOutput } from './ended-output.ts';
import { loadCell, loadJournal, loadResults } from './load-journal.ts';
import { lostOutput } from './lost-namespace.ts';
import { Namespace, type RanSegment } from './namespace.ts';
import { cellId, positionBefore } from './namespace-position.ts';
import { rebuildNamespace } from './rebuild.ts';
import { type SegmentWork, withNamespace } from './segment-work.ts';
import { takeCheckpoint } from './take-checkpoint.ts';

const COLD = { type: 'cold' } as const;

/** Creates the activity that runs one segment of a cell: code up to its next calls of tools, or to its end. */
export function runCodeActivity(runtime: ActivityRuntime): (input: RunSegmentInput) => Promise<RunSegmentOutput> {
  return failingAs('internal', async (input) => {
    const output = await attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current) => {
      const snapshot = await snapshotOf(runtime, input);
      return snapshot === undefined ? COLD : runSegment({ runtime, input, snapshot, attempt: current });
    });
    if (output.type === 'ended') runtime.transcripts.addResult(runKey(input), output.id, input.eventId, toolResult(input, output));
    // The history has no input of a local activity.
    return activityInfo().isLocal ? { ...output, at: input.at, segment: input.segment } : output;
  });
}

/** Returns the snapshot of the run. Undefined in a local activity that lacks it, which cannot query its run. */
async function snapshotOf({ snapshots }: ActivityRuntime, input: RunSegmentInput): Promise<AgentSnapshot | undefined> {
  if (!activityInfo().isLocal) return snapshots.load(input, input.agent);
  const { whole } = input;
  if (whole !== undefined) snapshots.add(whole.snapshot);
  return snapshots.known(input.agent);
}

async function runSegment(work: SegmentWork): Promise<RunSegmentOutput> {
  const { runtime, input, snapshot } = work;
  for (const tool of toolsFor('code', snapshot)) requirePredicate(runtime, input, snapshot, tool);
  requireHooks(runtime, inlineHooks(snapshot, ...CALL_EVENTS));
  pinnedGuardrails(runtime, snapshot, 'tool_call');
  const warm = runtime.namespaces.take(runKey(input), positionBefore(input));
  if (warm !== undefined) return runIn(work, warm);
  if (isFirst(input)) return runIn(work, new Namespace(await codeExecutor(runtime, snapshot)));
  const journal = activityInfo().isLocal ? input.whole?.journal : await loadJournal(input);
  if (journal === undefined) return COLD;
  const rebuilt = await rebuildNamespace(work, journal);
  return rebuilt instanceof Namespace ? runIn(work, rebuilt, journal) : lostOutput(work, rebuilt, journal);
}

/** True for the first segment in an empty namespace. */
function isFirst({ cell, segment, after }: RunSegmentInput): boolean {
  return cell === 0 && segment === 0 && after === undefined;
}

/** Runs the segment in a namespace that is at its position, and keeps the namespace for the next segment if it can be used again. */
async function runIn(work: SegmentWork, namespace: Namespace, journal?: CodeJournal): Promise<RunSegmentOutput> {
  const { runtime, input } = work;
  const output = await withNamespace(work.attempt, namespace, async () => {
    const ran = await run(input, namespace, journal);
    // Ended from outside: the end says nothing about the code.
    work.attempt.throwIfAborted();
    return ran === undefined ? COLD : outputOf(work, namespace, ran);
  });
  if (output.type !== 'cold' && namespace.isReliable) runtime.namespaces.put(runKey(input), namespace);
  else await namespace.kill();
  return output;
}

/** Begins the cell, or goes on with it. Undefined in a local activity that lacks the code or the results. */
async function run(input: RunSegmentInput, namespace: Namespace, journal?: CodeJournal): Promise<RanSegment | undefined> {
  const { cell, segment, moment } = input;
  const isLocal = activityInfo().isLocal;
  const known = (journal ?? input.whole?.journal)?.cells[cell];
  if (segment === 0) {
    const code = input.code ?? known?.code ?? (isLocal ? undefined : (await loadCell(input, cell)).code);
    return code === undefined ? undefined : namespace.begin({ id: cellId(input), code, moment });
  }
  const results =
    input.results ?? known?.segments[segment - 1]?.results ?? (isLocal ? undefined : await loadResults(input, cell, segment - 1));
  return results === undefined ? undefined : namespace.resume(results);
}

async function outputOf(work: SegmentWork, namespace: Namespace, ran: RanSegment): Promise<RunSegmentOutput> {
  const { segment, digest } = ran;
  if (segment.type === 'calls' && digest !== undefined) {
    const output = await callsOutput(work, segment, digest);
    if (typeof output !== 'string') return output;
    await namespace.kill();
    const ended = endedEarly(segment, output);
    return endedOutput(work, ended.result, { segment: ended }, namespace.code);
  }
  const { result } = segment.type === 'ended' ? segment : endedEarly(segment, 'The code was ended');
  const output = await endedOutput(work, result, ran, namespace.code);
  const checkpoint = digest === undefined ? undefined : await takeCheckpoint(work, namespace);
  return { ...output, ...(checkpoint === undefined ? {} : { checkpoint }) };
}

function toolResult({ callId }: RunSegmentInput, { content, isError }: RunSegmentOutput & { type: 'ended' }): ToolResult {
  return { type: 'tool_result', toolCallId: callId, name: RUN_CODE, status: isError ? 'error' : 'success', content };
}
