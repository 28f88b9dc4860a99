import { z } from 'zod';
import { runCodeActivity } from '../../../activities/code/run-code.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import type { CodeCallResult, CodeJournal, JournalCell } from '../../../src/core/domain/execution.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../../../src/core/domain/activity-messages.ts';
import type { ToolCall } from '../../../src/core/domain/content.ts';
import { lastDigest } from '../../../src/core/capabilities/code/code-cells.ts';
import { type JournalQuestion, QUERIES } from '../../../src/core/protocol.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, type ActivityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';
import { fakeExecutors, type FakeExecutors } from './fake-executor.ts';

const orders = defineTool({
  name: 'orders',
  description: 'Finds an order',
  parameters: z.object({ id: z.number() }),
  execute: () => 'found',
});

/** An agent whose code may call `orders`. */
export const desk = defineAgent({ name: 'desk', model: 'scripted/m', tools: [orders], code: { executor: quickjs() } });

/** The answer of a tool for code. */
export type AnswerCall = (call: MadeCall) => CodeCallResult;

/** A call as a segment returns it. */
export type MadeCall = Pick<ToolCall, 'name' | 'arguments'>;

/** Options of a run of code. */
export interface CodeRunOptions extends EnvironmentOptions {
  agent?: AnyAgent;
  executors?: FakeExecutors;
  isLocal?: boolean;
  /** A checkpoint is wanted after each cell. */
  checkpoint?: true;
}

/** A run whose cells the activity runs, with the journal that its workflow keeps. */
export class CodeRun {
  readonly environment: ActivityEnvironment;
  readonly executors: FakeExecutors;
  readonly snapshot: AgentSnapshot;
  readonly journal: CodeJournal = { cells: [] };
  readonly outputs: RunSegmentOutput[] = [];
  readonly #wanted: Pick<RunSegmentInput, 'checkpoint'>;
  #cells = 0;

  constructor({ agent = desk, executors = fakeExecutors(), isLocal = false, checkpoint, info, ...options }: CodeRunOptions = {}) {
    this.executors = executors;
    this.snapshot = snapshotOf(agent);
    this.#wanted = checkpoint === undefined ? {} : { checkpoint };
    const page = (): unknown => this.#page();
    this.environment = activityEnvironment({
      agents: [agent],
      createExecutor: executors.create,
      answers: {
        [QUERIES.snapshot]: this.snapshot,
        get [QUERIES.journal]() {
          return page();
        },
      },
      info: { isLocal, retryPolicy: { maximumAttempts: 1 }, startToCloseTimeoutMs: 150_000, ...info },
      ...options,
    });
  }

  /** Runs one segment as the activity does. */
  segment(input: RunSegmentInput): Promise<RunSegmentOutput> {
    return this.environment.run(runCodeActivity(this.environment.runtime), input);
  }

  /** Adds a cell to the journal. */
  begin(code: string): void {
    this.#cells += 1;
    this.journal.cells.push({ code, moment: { now: this.#cells, seed: 7 * this.#cells }, segments: [] });
  }

  /** Returns the input of the next segment of the last cell. */
  input(changes: Partial<RunSegmentInput> = {}): RunSegmentInput {
    const { code, moment, segments } = this.#current;
    const results = segments.at(-1)?.results;
    const after = lastDigest(this.journal);
    return {
      agentName: this.snapshot.name,
      agent: this.snapshot.digest,
      callId: `c${this.#cells}`,
      at: [this.#cells, 0],
      eventId: `e${this.#cells}`,
      step: this.#cells,
      cell: this.journal.cells.length - 1,
      segment: segments.length,
      calls: segments.reduce((sum, one) => sum + (one.results?.length ?? 0), 0),
      spentMs: 0,
      moment,
      ...this.#wanted,
      code,
      ...(after === undefined ? {} : { after }),
      ...(results === undefined ? {} : { results }),
      ...changes,
    };
  }

  /** Records the end of a segment as the workflow does. */
  record(output: RunSegmentOutput, answer: AnswerCall): void {
    if (output.type === 'cold') throw new Error('a cold segment is not recorded');
    const { segments } = this.#current;
    if (output.type === 'calls') {
      segments.push({ digest: output.digest, tools: output.calls.map(({ name }) => name), results: output.calls.map(answer) });
      return;
    }
    if (output.digest === undefined) this.journal.cells.pop();
    else segments.push({ digest: output.digest });
    const isNew = output.isLost === true || output.checkpoint !== undefined;
    if (isNew) this.journal.cells.length = 0;
    if (isNew) delete this.journal.checkpoint;
    if (output.checkpoint !== undefined) this.journal.checkpoint = output.checkpoint;
  }

  /** Runs a whole cell. `between` is called before each segment. */
  async cell(
    code: string,
    answer: AnswerCall = found,
    between: () => unknown = () => undefined,
  ): Promise<RunSegmentOutput & { type: 'ended' }> {
    this.begin(code);
    for (;;) {
      await between();
      let output = await this.segment(this.input());
      if (output.type === 'cold') output = await this.segment(this.input({ whole: this.whole() }));
      this.outputs.push(output);
      this.record(output, answer);
      if (output.type === 'ended') return output;
    }
  }

  /** Returns the journal and the snapshot, for a local activity that has to run the cells again. */
  whole(): NonNullable<RunSegmentInput['whole']> {
    return structuredClone({ snapshot: this.snapshot, journal: this.journal });
  }

  get #current(): JournalCell {
    const cell = this.journal.cells.at(-1);
    if (cell === undefined) throw new Error('there is no cell');
    return cell;
  }

  #page(): unknown {
    const [query, question] = this.environment.asked.at(-1) ?? [];
    // The environment reads all answers for each query.
    if (query !== QUERIES.journal) return undefined;
    const { from, cell, segment } = question as JournalQuestion;
    const asked = cell === undefined ? this.journal : this.journal.cells[cell];
    const part = segment === undefined ? asked : (asked as JournalCell).segments[segment]?.results;
    const text = JSON.stringify(part);
    // Pages are short, so that tests read several.
    return { text: text.slice(from, from + 50), total: text.length };
  }
}

/** Answers a call of `orders` with the id of the order. */
export function found({ arguments: { id } }: MadeCall): CodeCallResult {
  return { value: { id: id ?? null, total: Number(id) * 10 } };
}
