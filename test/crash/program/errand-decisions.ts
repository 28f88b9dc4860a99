import type { CrashTestbed } from '../processes/crash-testbed.ts';
import type { Waiting } from '../processes/crash-testbed.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { ofTopRun } from '../points/points.ts';
import { type Disturbance, killIdle } from '../runs/disturbance.ts';
import { untilRun } from '../runs/start-once.ts';

/** The question that the run waits for when nothing else is in progress. */
const QUESTION = 'work.Who';

/** The run whose requests are decided. */
interface DecidedRun {
  runId: string;
  disturbance: Disturbance;
  deadline: number;
}

/** The decisions of people in one run of the program, also those about its children. */
export class ErrandDecisions {
  /** The status of the run while it waited for the answer to its question. */
  waiting: { status: string; waitingFor: string[] } | undefined;
  /** Rejects if a decision cannot be made. */
  readonly failed: Promise<never>;
  readonly #testbed: CrashTestbed;
  readonly #run: DecidedRun;
  readonly #begun = new Set<string>();

  /** Decides from now on, each call once. */
  constructor(testbed: CrashTestbed, run: DecidedRun) {
    this.#testbed = testbed;
    this.#run = run;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.failed.catch(() => undefined);
    testbed.worker.listen('waiting', (waiting) => {
      const key = `${waiting.runId} ${waiting.callId}`;
      if (ofTopRun(waiting.runId, '').runId !== run.runId || this.#begun.has(key)) return;
      this.#begun.add(key);
      this.#decide(waiting).catch(reject);
    });
  }

  async #decide({ runId, callId, digest }: Waiting): Promise<void> {
    const handle = this.#testbed.client.handle(runId);
    const about = { callId, digest };
    const sent = { id: callId, by: 'boss' };
    await retryWhileDown(`The decision on ${callId}`, this.#run.deadline, async () => {
      switch (callId) {
        case 'd2':
          // The program continues as new while its child waits: the next execution takes the result of the child.
          await this.#until(({ hasContinued }) => hasContinued);
          return handle.approve(about, sent);
        case QUESTION:
          await this.#atRest();
          return handle.respond(about, 'Ann', sent);
        case 'close.Send':
          return handle.approve(about, { ...sent, arguments: { prompt: 'Send it by post' } });
        case 'close.Send.review':
          return handle.reject(about, { ...sent, reason: 'Name the price' });
        case 'close.Send.review#2':
          return handle.approve(about, sent);
        default:
          throw new Error(`The run waits for a decision on "${callId}", which no other run of the program does`);
      }
    });
  }

  /** Waits until nothing is in progress, disturbs the run there, and records its status. */
  async #atRest(): Promise<void> {
    const { runId, disturbance, deadline } = this.#run;
    if (this.waiting !== undefined) return;
    await this.#until(({ isIdle }) => isIdle);
    await killIdle(this.#testbed, runId, disturbance);
    const { status, waitingFor } = await retryWhileDown('The status', deadline, () => this.#testbed.client.handle(runId).status());
    this.waiting = { status, waitingFor };
  }

  #until(isMet: Parameters<typeof untilRun>[1]['isMet']): Promise<void> {
    const { runId, deadline } = this.#run;
    return untilRun(this.#testbed, { runId, deadline, isMet });
  }
}
