import { type CodeLanguage, type ExecutionLimits, executionLimits } from '../core/domain/code.ts';
import {
  type CodeCall,
  type CodeCallResult,
  EMPTYING_ERROR_KINDS,
  type ExecutionError,
  type ExecutionErrorKind,
  type ExecutionResult,
  type Executor,
  type Moment,
  newExecutionResult,
  type Segment,
} from '../core/domain/execution.ts';
import type { JsonValue } from '../core/domain/json.ts';
import type { ExecutorDefinition } from '../define/code.ts';

/** What a scripted executor does with one run of code. */
export interface ScriptedExecution {
  /** Tool calls, list by list: the calls of one list are made together. */
  calls?: readonly (readonly CodeCall[])[];
  /** The printed text. */
  output?: string;
  /** The final answer. Absent: there is none. */
  finalValue?: JsonValue;
  /** The error that ends the cell. */
  error?: ExecutionError;
  /** The variables after the cell. */
  namespace?: Readonly<Record<string, JsonValue>>;
  /** The reported duration of the cell in milliseconds. */
  durationMs?: number;
  /** The reported size of its namespace in bytes. */
  memoryUsedBytes?: number;
}

/** Code that a scripted executor received. */
export interface ScriptedCode {
  /** The code of the cell. */
  readonly code: string;
  /** The time and the seed that the cell sees. */
  readonly moment: Moment;
  /** The values injected before the cell. */
  readonly injected: Readonly<Record<string, JsonValue>>;
  /** The results of its calls: one list for each list of calls. */
  readonly results: readonly (readonly CodeCallResult[])[];
}

/** The options of a scripted executor. */
export interface ScriptedExecutorOptions {
  /** The language in the model's instructions. Default: JavaScript. */
  language?: CodeLanguage;
  /** The reported limits of the executor. */
  limits?: Partial<ExecutionLimits>;
}

/** An executor that runs no code: it follows its script, and records the code it received. */
export interface ScriptedExecutor extends ExecutorDefinition {
  /** The code so far, in order. Code that is run again because a worker lost its namespace is not repeated. */
  readonly given: readonly ScriptedCode[];
  /** Throws unless every entry of the script was used, and no code exceeded the script. */
  assertUsedUp(): void;
}

/**
 * Creates an executor for tests of agents with code: each run of code gets the next entry of the script as its result. The same code
 * at the same moment gets the same entry again, just as real code has the same result on another worker.
 *
 * @example
 * const executor = scriptedExecutor([{ calls: [[{ tool: 'orders', arguments: { id: 1 } }]], output: 'paid' }]);
 * const agent = defineAgent({ name: 'desk', model: 'scripted/model', tools: [orders], code: { executor } });
 */
export function scriptedExecutor(
  script: readonly ScriptedExecution[],
  { language = 'javascript', limits }: ScriptedExecutorOptions = {},
): ScriptedExecutor {
  const cells = new Map<string, ScriptedCell>();
  const cellOf = (code: string, moment: Moment, injected: Record<string, JsonValue>): ScriptedCell => {
    const key = JSON.stringify([code, moment.now, moment.seed]);
    const index = cells.size;
    const entry = script[index] ?? beyond(index, script.length);
    const cell = cells.get(key) ?? { entry, code, moment, injected, results: [] };
    cells.set(key, cell);
    return cell;
  };
  return Object.freeze({
    kind: 'in_process' as const,
    language,
    limits: executionLimits(limits),
    allowedImports: [],
    create: () => new Scripted(cellOf),
    get given() {
      return [...cells.values()];
    },
    assertUsedUp: () => {
      if (cells.size === script.length) return;
      throw new Error(
        `The scripted executor was given ${counted(cells.size, 'run')} of code, but its script has ${counted(script.length, 'entry')}.`,
      );
    },
  });
}

interface ScriptedCell extends ScriptedCode {
  entry: ScriptedExecution;
  results: CodeCallResult[][];
}

function beyond(index: number, length: number): ScriptedExecution {
  const message = `The scripted executor has no result for run ${index + 1} of code: its script has ${length}. Add an entry.`;
  return { error: { kind: 'runtime', message } };
}

function counted(count: number, noun: string): string {
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count} ${count === 1 ? noun : plural}`;
}

/** The executor of one namespace. */
class Scripted implements Executor {
  readonly #cellOf: (code: string, moment: Moment, injected: Record<string, JsonValue>) => ScriptedCell;
  #injected: [string, JsonValue][] = [];
  #running: { cell: ScriptedCell; next: number } | undefined;
  #emptiedBy: ExecutionErrorKind | null = null;

  constructor(cellOf: (code: string, moment: Moment, injected: Record<string, JsonValue>) => ScriptedCell) {
    this.#cellOf = cellOf;
  }

  async run(code: string, moment: Moment): Promise<ExecutionResult> {
    const segment = await this.begin(code, moment);
    if (segment.type === 'ended') return segment.result;
    return this.#end({ kind: 'runtime', message: "A tool can be called only by an agent's code" });
  }

  begin(code: string, moment: Moment): Promise<Segment> {
    const cell = this.#cellOf(code, moment, Object.fromEntries(this.#injected));
    this.#injected = [];
    // Code that is run again gets new call results.
    cell.results = [];
    this.#running = { cell, next: 0 };
    return Promise.resolve(this.#go());
  }

  resume(results: readonly CodeCallResult[]): Promise<Segment> {
    this.#running?.cell.results.push([...results]);
    return Promise.resolve(this.#go());
  }

  kill(): Promise<void> {
    if (this.#running !== undefined) this.#end({ kind: 'killed', message: 'The run was killed' });
    return Promise.resolve();
  }

  inject(name: string, value: JsonValue): void {
    this.#injected = [...this.#injected.filter(([other]) => other !== name), [name, value]];
  }

  reset(): Promise<void> {
    this.#injected = [];
    this.#emptiedBy = null;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.kill();
  }

  #go(): Segment {
    const { cell, next } = this.#running ?? {};
    if (cell === undefined || next === undefined) throw new Error('No code waits for calls: call begin() first');
    const calls = cell.entry.calls?.[next];
    this.#running = { cell, next: next + 1 };
    if (calls !== undefined && calls.length > 0) return { type: 'calls', calls, output: '', durationMs: 0 };
    return { type: 'ended', result: this.#end(cell.entry.error ?? null), durationMs: cell.entry.durationMs ?? 0 };
  }

  #end(error: ExecutionError | null): ExecutionResult {
    const { output = '', finalValue, namespace = {}, durationMs = 0, memoryUsedBytes = 0 } = this.#running?.cell.entry ?? {};
    const emptiedBy = this.#emptiedBy;
    this.#running = undefined;
    this.#emptiedBy = error !== null && EMPTYING_ERROR_KINDS.has(error.kind) ? error.kind : null;
    const isFinal = error === null && finalValue !== undefined;
    const names = Object.entries(namespace).map(([name, value]) => [name, { type: typeof value, value }] as const);
    return newExecutionResult({
      output,
      isFinal,
      finalValue: isFinal ? finalValue : null,
      error,
      timeout: error?.kind === 'timeout',
      durationMs,
      memoryUsedBytes,
      namespace: error === null ? Object.fromEntries(names) : {},
      emptiedBy,
    });
  }
}
