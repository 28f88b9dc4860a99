import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { type InjectedSinks, type ReplayResult, type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import type { HistoryEvent } from '../src/history/history-events.ts';
import type { CodecOptions } from '../src/codec/codec-options.ts';
import { errorMessage } from '../src/core/domain/errors/error.ts';
import type { RecordedCommand, ReplaySinks } from '../workflows/interceptors/command-recorder.ts';
import { LonghaulPlugin } from './plugin.ts';
import { bundleForReplay } from './replay-bundle.ts';
import { type Divergence, firstDivergence, lastStep } from './replay-divergence.ts';
import { historyTasks, workflowTypeOf } from './replay-history.ts';

/** Options of a Replayer. */
export interface ReplayerOptions {
  /** The module of your own workflows, as for the worker. */
  workflowsPath?: string;
  /** The codec of the worker, if it encrypts. */
  codec?: CodecOptions;
  /** Options of the Temporal Worker that matter for a replay: data converter, plugins, interceptors, a bundle built ahead. */
  worker?: Omit<ReplayWorkerOptions, 'workflowsPath'>;
}

/** The result of replaying a history. */
export type ReplayVerdict =
  /** The code's commands match the history. */
  | { type: 'ok' }
  /** The code's commands differ: a run in this state would be stuck. */
  | { type: 'diverged'; message: string; divergence: Divergence | null }
  /**
   * The history could not be replayed: the code throws, or lacks the workflow, or the history is invalid. `step` is the
   * step that was reached.
   */
  | { type: 'failed'; message: string; step: number | null };

/** Replays histories, one after the other, with the current workflow code, to test a deploy in advance. Needs no server. */
export class Replayer {
  readonly #options: ReplayerOptions;
  #results: AsyncIterableIterator<ReplayResult> | undefined;
  #next: { history: { events: HistoryEvent[] }; workflowId: string } | undefined;
  #commands = new Map<number, RecordedCommand[]>();

  /** Bundles nothing: the first replay does. */
  constructor(options: ReplayerOptions = {}) {
    this.#options = options;
  }

  /**
   * Replays one execution: its events as the server returns them, or the JSON of a history file. Call it again only
   * after it has resolved. Throws a UsageError if the workflows cannot be bundled.
   */
  async replay(workflowId: string, history: unknown): Promise<ReplayVerdict> {
    const events = eventsOf(history);
    if (typeof events === 'string') return { type: 'failed', message: events, step: null };
    this.#commands = new Map();
    this.#next = { history: { events }, workflowId };
    this.#results ??= await this.#open();
    const { value, done } = await this.#results.next();
    if (done) throw new Error('The replay worker has ended');
    return this.#verdict(events, value.error);
  }

  /** Shuts down the replay worker. */
  async close(): Promise<void> {
    await this.#results?.return?.(undefined);
  }

  async #open(): Promise<AsyncIterableIterator<ReplayResult>> {
    const { workflowsPath, codec, worker = {} } = this.#options;
    const plugin = new LonghaulPlugin({ agents: [], providers: {}, ...(codec === undefined ? {} : { codec }) });
    const plugins = [...(worker.plugins ?? []), plugin];
    const workflowBundle = worker.workflowBundle ?? (await bundleForReplay(workflowsPath, { ...worker, plugins }));
    const { interceptors: { workflowModules: _bundled, ...interceptors } = {}, bundlerOptions: _options, ...options } = worker;
    const sinks = { ...worker.sinks, ...this.#sinks() };
    return Worker.runReplayHistories({ ...options, interceptors, workflowBundle, sinks, plugins }, this.#histories());
  }

  /** Yields the histories. The SDK asks for the next one only when the next result is requested, and by then it is set. */
  *#histories(): Generator<{ history: { events: HistoryEvent[] }; workflowId: string }> {
    while (this.#next !== undefined) {
      const next = this.#next;
      this.#next = undefined;
      yield next;
    }
  }

  /** Collects the commands of each task, which can have several activations. */
  #sinks(): InjectedSinks<ReplaySinks> {
    const record = (task: number, commands: RecordedCommand[]): void => {
      this.#commands.set(task, [...(this.#commands.get(task) ?? []), ...commands]);
    };
    return { longhaulReplay: { commands: { fn: (_info, task, commands) => record(task, commands), callDuringReplay: true } } };
  }

  #verdict(events: HistoryEvent[], error: ReplayResult['error']): ReplayVerdict {
    if (error === undefined) return { type: 'ok' };
    const message = coreMessage(error.message, workflowTypeOf(events));
    if (error.name !== 'DeterminismViolationError') return { type: 'failed', message, step: lastStep(this.#commands) };
    return { type: 'diverged', message, divergence: firstDivergence(historyTasks(events), this.#commands) ?? null };
  }
}

/** Returns the events of a history in any of its formats, or the problem with it. */
function eventsOf(history: unknown): HistoryEvent[] | string {
  const events: unknown = Array.isArray(history) ? history : isObject(history) ? history['events'] : undefined;
  if (!Array.isArray(events) || !isObject(events[0])) return 'This is no history: it has no list of events';
  if (typeof events[0]['eventId'] !== 'string') return events as HistoryEvent[];
  try {
    return historyFromJSON({ events }).events ?? [];
  } catch (error) {
    return `This is no history: ${errorMessage(error)}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns the message of the SDK without the format in which it prints its own structures. */
function coreMessage(text: string, workflowType: string): string {
  const quoted = /message: ("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const message = quoted === undefined ? text : String(JSON.parse(quoted.replaceAll("\\'", "'")));
  if (message.includes('no such function is exported')) {
    return `The code has no workflow of type "${workflowType}": it is no run of an agent. Name the module that has it with --workflows (workflowsPath)`;
  }
  return message.replace(/^\[TMPRL1100\] Nondeterminism error: /, '');
}
