import type { Client } from '@temporalio/client';
import { errorCode } from '../../core/domain/errors/error.ts';
import type { Event } from '../../core/domain/record/event.ts';
import { addUsageOfEvent } from '../../core/domain/record/usage-of-events.ts';
import { type AggregatedUsage, noUsage } from '../../core/domain/model/usage.ts';
import type { StatusView } from '../../core/protocol.ts';
import { RunReader } from '../read/reader.ts';

/** The view of one run of a tree. */
export interface TreeRunView {
  kind: 'agent' | 'program';
  status: StatusView;
  /** The usage of the run without that of its children. */
  usage: AggregatedUsage;
  /** The ids of all children that it has started so far. */
  children: readonly string[];
}

/** A run of a tree, which can be read again as it goes on. Records that were read are not read again. */
export class TreeRun {
  readonly runId: string;
  readonly reader: RunReader;
  readonly #children = new Set<string>();
  /** The number of events that were read, for a program. */
  #events = 0;
  #usage = noUsage();
  /** The step of the last reading, for an agent. */
  #step = -1;

  constructor(client: Client, runId: string) {
    this.runId = runId;
    this.reader = new RunReader(client, runId);
  }

  /** Reads the run; undefined if the server does not have it: it was deleted, or could not start. */
  async view(): Promise<TreeRunView | undefined> {
    try {
      const { kind } = await this.reader.chain.newest();
      // Together: each waits for seconds if no worker answers.
      const [status] = await Promise.all([this.reader.status(), kind === 'program' ? this.#readEvents() : undefined]);
      for (const runId of [...(status.endedChildren ?? []), ...(status.children ?? [])]) this.#note(runId);
      if (kind === 'agent') await this.#readSteps(status);
      const own = status.session?.spent.usage ?? status.usage;
      return { kind, status, usage: kind === 'program' ? this.#usage : own, children: [...this.#children] };
    } catch (error) {
      if (errorCode(error) === 'run_not_found') return undefined;
      throw error;
    }
  }

  /** The events of a program name its children, and say what it has used itself. */
  async #readEvents(): Promise<void> {
    try {
      if (this.#events === 0) this.#usage = noUsage();
      for await (const event of this.reader.events({ from: this.#events })) this.#read(event);
    } catch (error) {
      if (errorCode(error) !== 'history_removed') throw error;
      // The server has removed the beginning: nothing of the rest was read before.
      for await (const event of this.reader.eventsLeft()) this.#read(event);
      this.#events = 0;
    }
  }

  #read(event: Event): void {
    this.#events += 1;
    this.#usage = addUsageOfEvent(this.#usage, event);
    if (event.step?.child !== undefined) this.#note(event.step.child);
  }

  async #readSteps({ currentStep, treeUsage, session }: StatusView): Promise<void> {
    // No child of such a run has ended, and of a session in no turn.
    const hasNone = treeUsage === undefined && session?.spent.below === undefined;
    if (hasNone || currentStep === this.#step) return;
    for (const { toolCalls } of await this.reader.steps()) {
      for (const { childRunId } of toolCalls) if (childRunId !== undefined) this.#note(childRunId);
    }
    this.#step = currentStep;
  }

  /** The id of a child begins with that of its parent. */
  #note(runId: string): void {
    if (runId.startsWith(`${this.runId}/`)) this.#children.add(runId);
  }
}
