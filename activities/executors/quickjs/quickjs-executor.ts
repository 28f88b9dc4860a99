import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import { type ExecutionLimits, executionLimits } from '../../../src/core/execution/execution-limits.ts';
import {
  type ExecutionErrorKind,
  type ExecutionResult,
  failed,
  type NamespaceEntry,
  succeeded,
} from '../../../src/core/execution/execution-result.ts';
import type { Executor, Moment, Segment } from '../../../src/core/execution/executor.ts';
import { injectionProblem } from '../../../src/core/execution/injected-value.ts';
import { type CellEnding, CellThread } from './cell-thread.ts';
import type { Provided } from '../provided.ts';
import { MAX_CODE_LENGTH, MAX_INJECTED_LENGTH, MAX_OUTPUT_LENGTH } from './frames.ts';
import { RESERVED_WORDS } from './reserved-words.ts';

/** Characters of output that a failed run keeps at least: its output is not cut to the limit. */
const FAILED_OUTPUT_LENGTH = 64_000;

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** Names that an executor gives to all code. */
const PROVIDED: ReadonlySet<string> = new Set(['print', 'console', 'final_answer']);

/** Kinds of errors after which nothing can be said of the state that the code has left. */
const ENDING: ReadonlySet<ExecutionErrorKind> = new Set(['timeout', 'memory', 'killed', 'protocol']);

/** Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a thread of its own. The thread starts with the first run. */
export function quickjsExecutor(limits?: Partial<ExecutionLimits>, _provided: Provided = { tools: [], scratchpad: false }): Executor {
  const checked = executionLimits(limits);
  if (checked.maxOutputBytes > MAX_OUTPUT_LENGTH) {
    throw new UsageError(`The limit "maxOutputBytes" of the executor is ${checked.maxOutputBytes}: write at most ${MAX_OUTPUT_LENGTH}`);
  }
  return new QuickJsExecutor(checked);
}

class QuickJsExecutor implements Executor {
  private readonly limits: ExecutionLimits;
  private thread: CellThread | undefined;
  private injected = new Map<string, string>();
  private isRunning = false;
  private ended: ExecutionErrorKind | undefined;

  constructor(limits: ExecutionLimits) {
    this.limits = limits;
  }

  async run(code: string, moment: Moment): Promise<ExecutionResult> {
    this.refuseDuringRun('run');
    if (this.ended !== undefined) {
      throw new UsageError(`The executor has ended with "${this.ended}", and its names are lost: call reset() before the next run`);
    }
    checkMoment(moment);
    if (code.length > MAX_CODE_LENGTH) return tooLong(code);
    this.thread ??= this.startThread();
    const { thread } = this;
    this.isRunning = true;
    const ending = await thread.run({ code, now: moment.now, seed: moment.seed, injected: [...this.injected] });
    this.isRunning = false;
    this.injected.clear();
    if (ending.type === 'failed' && ENDING.has(ending.kind)) await this.end(ending.kind);
    return this.result(thread.output, ending);
  }

  async begin(code: string, moment: Moment): Promise<Segment> {
    const result = await this.run(code, moment);
    return { type: 'ended', result, durationMs: result.durationMs };
  }

  resume(): Promise<Segment> {
    throw new UsageError('No run waits for calls');
  }

  async kill(): Promise<void> {
    await this.end('killed');
  }

  inject(name: string, value: JsonValue): void {
    this.refuseDuringRun('inject');
    if (!IDENTIFIER.test(name) || RESERVED_WORDS.has(name))
      throw new UsageError(`"${name}" cannot be injected: it is no name of a variable`);
    if (PROVIDED.has(name)) throw new UsageError(`"${name}" cannot be injected: the executor has a function of this name`);
    const problem = injectionProblem(value, name);
    if (problem !== undefined) throw new UsageError(`"${name}" cannot be injected: ${problem}. Inject JSON alone`);
    const injected = new Map(this.injected).set(name, JSON.stringify(value));
    const length = [...injected.values()].reduce((sum, json) => sum + json.length, 0);
    if (length > MAX_INJECTED_LENGTH) {
      throw new UsageError(
        `"${name}" cannot be injected: with it the values have ${length} characters of JSON, more than ${MAX_INJECTED_LENGTH}`,
      );
    }
    this.injected = injected;
  }

  async reset(): Promise<void> {
    this.refuseDuringRun('reset');
    await this.end('killed');
    this.injected.clear();
    this.ended = undefined;
  }

  private startThread(): CellThread {
    const { timeoutSeconds, maxMemoryMb, maxOutputBytes } = this.limits;
    return new CellThread({
      timeoutMs: Math.max(0, timeoutSeconds) * 1_000,
      memoryBytes: maxMemoryMb * 1_048_576,
      // One character more than may be kept shows that there was more.
      outputLength: Math.max(maxOutputBytes, FAILED_OUTPUT_LENGTH) + 1,
    });
  }

  private async end(kind: ExecutionErrorKind): Promise<void> {
    const { thread } = this;
    this.ended = kind;
    this.thread = undefined;
    await thread?.terminate({ kind, message: 'The run was killed' });
  }

  private result(output: string, ending: CellEnding): ExecutionResult {
    const { durationMs, memoryUsedBytes } = ending;
    const figures = { output, durationMs, memoryUsedBytes };
    if (ending.type === 'failed') return failed(figures, { kind: ending.kind, message: ending.message });
    const finalAnswer = ending.answer === undefined ? undefined : { value: JSON.parse(ending.answer) as JsonValue };
    return succeeded({ ...figures, finalAnswer, namespace: namespaceOf(ending) }, this.limits.maxOutputBytes);
  }

  private refuseDuringRun(method: keyof Executor): void {
    if (this.isRunning) throw new UsageError(`The executor is running code: wait for its result, or kill() it, before "${method}"`);
  }
}

function namespaceOf({ namespace }: Extract<CellEnding, { type: 'done' }>): Record<string, NamespaceEntry> {
  return Object.fromEntries(
    Object.entries(namespace).map(([name, { type, json }]) => [
      name,
      json === undefined ? { type } : { type, value: JSON.parse(json) as JsonValue },
    ]),
  );
}

function checkMoment({ now, seed }: Moment): void {
  if (!Number.isFinite(now) || now < 0) throw new UsageError(`The moment of a run has now ${now}: write milliseconds since 1970`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`The moment of a run has seed ${seed}: write a whole number`);
}

function tooLong(code: string): ExecutionResult {
  const message = `The code has ${code.length} characters, more than ${MAX_CODE_LENGTH}`;
  return failed({ output: '', durationMs: 0, memoryUsedBytes: 0 }, { kind: 'syntax', message });
}
