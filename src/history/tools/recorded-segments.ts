import { segmentFailure, segmentOutcome } from '../../core/activity-requests/code-requests.ts';
import type { SegmentCall, SegmentOutcome } from '../../core/loop/ports.ts';
import { ACTIVITIES, type RunSegmentOutput } from '../../core/protocol.ts';
import type { RecordedActivity, RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** The parts of the ports that take recorded activities one by one. */
interface Taking {
  /** Local calls that the loop has not requested yet. */
  localCallsLeft: Set<LocalCall>;
  /** Called when the loop requests a remote segment. */
  requested: (segment: RecordedActivity<unknown, unknown>) => void;
}

/** Returns the address of a segment: the offset of the event of its call of `run_code`, its index there, and its number. */
export function segmentAddress([offset, index]: readonly [number, number], segment: number): string {
  return `${offset}/${index}/${segment}`;
}

/** Answers for segments of code with their recorded ends. A local one whose worker lacked the namespace ran twice. */
export async function recordedSegment(
  recorded: RecordedExecution,
  tasks: RecordedTasks,
  call: SegmentCall,
  { localCallsLeft, requested }: Taking,
): Promise<SegmentOutcome> {
  const address = segmentAddress([call.offset, call.index], call.segment);
  for (;;) {
    const remote = recorded.segments.get(address);
    if (remote !== undefined) requested(remote);
    const local = remote === undefined ? localSegment(localCallsLeft, address) : undefined;
    if (local !== undefined) localCallsLeft.delete(local);
    const ended = await tasks.endOf(remote ?? (local as RecordedActivity<unknown, RunSegmentOutput> | undefined), { isWaitedFor: false });
    const outcome = ended.failure === undefined ? segmentOutcome(ended.output, call) : segmentFailure(ended.failure);
    if (outcome.type !== 'cold') return outcome;
  }
}

/** Finds the local activity of a segment. The marker of a failure does not say which segment it belongs to: it is the first one. */
function localSegment(left: ReadonlySet<LocalCall>, address: string): LocalCall | undefined {
  const segments = [...left].filter(({ input }) => input.name === ACTIVITIES.runCode);
  return segments.find(({ output }) => addressOf(output) === address) ?? segments.find(({ failure }) => failure !== undefined);
}

function addressOf(output: LocalCall['output']): string | undefined {
  if (output === undefined || !('segment' in output) || output.at === undefined || output.segment === undefined) return undefined;
  return segmentAddress(output.at, output.segment);
}
