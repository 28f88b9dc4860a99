import type { Anchor } from '../../../src/anchors/anchor.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';
import { guardsAnswers } from '../../../src/core/domain/guardrails/guardrail.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';
import type { OfRun } from '../../../src/core/protocol.ts';
import type { ActivityRuntime } from '../../runtime.ts';
import type { Attempt } from '../attempt.ts';
import { CallStream } from './call-stream.ts';
import { currentAttempt, streamingActivity } from './streaming-activity.ts';

/** Begins the stream of an attempt; undefined if the run is not streamed. */
export type BeginStream = (attempt: Pick<Attempt, 'stream'>) => Pick<CallStream, 'add' | 'end'> | undefined;

/** The model call whose answer is streamed. */
export interface StreamedModelCall {
  run: OfRun;
  /** The snapshot of the agent that acts, or of the program. */
  snapshot: AgentSnapshot;
  /** The id of the event that will hold the answer. */
  eventId: string;
  /** The number of events that the run had recorded. Absent for a step of a program: steps run side by side. */
  through?: number;
  /** The address of the step of a program. */
  callId?: string;
  /** The anchors that the answer must keep. */
  anchors?: readonly Anchor[];
}

/**
 * Returns the function that begins the stream of an attempt of a model call, and announces the attempt. What may be the answer leaves
 * the process only if nothing has to pass it first: the output guardrails of the agent that acts, or an anchor. Otherwise the recorded
 * event brings it, once it has passed.
 */
export function modelStream(runtime: ActivityRuntime, { run, snapshot, anchors = [], ...call }: StreamedModelCall): BeginStream {
  const isWithheld = guardsAnswers(snapshot) || anchors.some(({ onViolation }) => onViolation !== 'warn');
  const tools = new Set(snapshot.tools.map(({ name }) => name));
  return (attempt) => {
    const activity = streamingActivity(runtime, run, attempt, snapshot);
    if (activity === undefined) return undefined;
    const stream = new CallStream({ ...call, ...currentAttempt() }, (entry) => activity.publish(entry));
    stream.begin();
    if (!isWithheld) return stream;
    return {
      add: (delta) => {
        if (isArgument(delta, tools)) stream.add(delta);
      },
      end: () => stream.end(),
    };
  };
}

/**
 * True for a piece of the arguments of a tool. Text may be the answer, reasoning may draft it, and the calls that no tool has (the final
 * answer, and code, which may return one) may hold it.
 */
function isArgument(delta: ModelDelta, tools: ReadonlySet<string>): boolean {
  return delta.type === 'tool_input' && tools.has(delta.toolName);
}
