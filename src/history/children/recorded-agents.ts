import type { ChildCall, ChildOutcome } from '../../core/domain/children/child-call.ts';
import type { RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

/** The agents that a run which is read back has started by tool calls. Those of the steps of a program are not among them. */
export class RecordedAgents {
  /** The number of agents that the run waits for. */
  running = 0;
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  /** The agents that the run has not started yet. */
  readonly #left: Set<string>;

  /** The number of further turns that the run has asked for, by the id of the session. */
  readonly #asked = new Map<string, number>();

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    const isProgram = recorded.program !== undefined || recorded.carry?.snapshot.program !== undefined;
    this.#left = new Set(isProgram ? [] : [...recorded.children].flatMap(([runId, { started }]) => (started === undefined ? [] : [runId])));
  }

  /** Returns the run id of the agent that a call has started. One that has not started gets the prefix alone. */
  runIdOf(prefix: string): string {
    const found = [...this.#left].find((runId) => runId.startsWith(prefix));
    this.#left.delete(found ?? '');
    return found ?? prefix;
  }

  /** Counts an agent until the wait for it ends. */
  async during({ of, runId, next }: ChildCall, outcome: Promise<ChildOutcome>): Promise<ChildOutcome> {
    if (of === undefined) return outcome;
    this.running += 1;
    if (next !== undefined) this.#asked.set(runId, (this.#asked.get(runId) ?? 0) + 1);
    const ended = await outcome;
    this.running -= 1;
    return ended;
  }

  /** True if history starts an agent in that task, or asks one again, which the run has not done yet. */
  startsIn(task: number): boolean {
    const { children } = this.#recorded;
    if ([...this.#left].some((runId) => children.get(runId)?.started?.scheduledIn === task)) return true;
    return [...children].some(([runId, { nextTurns }]) =>
      nextTurns.slice(this.#asked.get(runId) ?? 0).some(({ scheduledIn }) => scheduledIn === task),
    );
  }

  /** True if the run leaves its agents to the next execution in the current task: it tells those that it has started itself. */
  get areLeft(): boolean {
    const task = this.#tasks.number;
    const { children, end, decidedIn = Infinity } = this.#recorded;
    if ([...children.values()].some(({ told }) => told?.scheduledIn === task)) return true;
    return end?.type === 'continued' && this.#left.size === 0 && task >= decidedIn;
  }
}
