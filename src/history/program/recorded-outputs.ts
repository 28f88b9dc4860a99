import { loadFailure, loadOutput, storeFailure, storeOutcome } from '../../core/activity-requests/output-requests.ts';
import type { LoadOutcome, ProgramPorts, StoreOutcome } from '../../core/program/interpreter/program-ports.ts';
import type { StoredOutput } from '../../core/domain/program/messages.ts';
import { loadAddress, type RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

/** The outputs that an execution of a program has moved to the payload store, and loaded from it. */
export class RecordedOutputs implements Pick<ProgramPorts, 'storeOutputs' | 'loadOutput'> {
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  #storings = 0;
  /** Outputs and pieces that the program has not asked for yet. */
  readonly #left: Set<string>;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#left = new Set(recorded.loads.keys());
  }

  /** The number of outputs that the program will load in this execution. */
  get left(): number {
    return this.#left.size;
  }

  async storeOutputs(): Promise<StoreOutcome> {
    const recorded = this.#recorded.storings[this.#storings];
    this.#storings += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    return ended.failure === undefined ? storeOutcome(ended.output) : storeFailure(ended.failure);
  }

  loadOutput({ id }: StoredOutput): Promise<LoadOutcome> {
    return loadOutput(async (from) => {
      const address = loadAddress({ id, from });
      this.#left.delete(address);
      const ended = await this.#tasks.endOf(this.#recorded.loads.get(address), { isWaitedFor: true });
      return ended.failure === undefined ? ended.output : loadFailure(ended.failure);
    });
  }
}
