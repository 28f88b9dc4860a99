import { unreadMessage } from '../../core/activity-requests/next-turn-requests.ts';
import type { MessageContent } from '../../core/domain/sessions/message-content.ts';
import type { RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';
import { childOf } from './recorded-child.ts';

/** The requests of a session to the run that keeps it, as history has recorded them. */
export class RecordedKeeper {
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  #messageReads = 0;
  #reports = 0;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
  }

  /** Returns the message of a call that was too large to be sent. */
  async readMessage(): Promise<MessageContent> {
    const recorded = this.#recorded.messageReads[this.#messageReads];
    this.#messageReads += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    return ended.failure === undefined ? { type: 'read', content: ended.output } : unreadMessage(ended.failure);
  }

  /** Waits until the run was told of the end of a turn. */
  async turnEnded(runId: string): Promise<void> {
    const recorded = childOf(this.#recorded, runId).reports[this.#reports];
    this.#reports += 1;
    await this.#tasks.endOf(recorded, { isWaitedFor: true, isNeverRefused: true });
  }
}
