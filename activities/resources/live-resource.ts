import type { ReadSecret, ResourceDefinition } from '../../src/define/context/resource.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import { memberOf } from '../../src/core/domain/errors/thrown.ts';
import { withTimeout } from '../attempts/with-timeout.ts';

/** The time after a failure, in milliseconds, in which calls that do not name the resource do not retry it. */
const PAUSE_AFTER_FAILURE_MS = 5_000;

/** The health of a resource. `failed`: it should be open, and is not. */
export interface ResourceHealth {
  readonly state: 'closed' | 'open' | 'failed';
  /** The reason for a failure. */
  readonly message?: string;
}

/** Functions of the worker that live resources need. */
export interface ResourceContext {
  secret: ReadSecret;
  /** Redacts secrets in the error of an opening. */
  redact: (text: string) => string;
  log: (line: string) => void;
}

type ResourceState =
  | { type: 'closed' }
  | { type: 'open'; value: unknown; checkedAt: number; openOrder: number }
  | { type: 'failed'; error: LonghaulError; at: number };

/** The number of resources that were opened in this process: the last one opened is closed first. */
let openings = 0;

/** One resource of a worker, from opening to closing. Times are of the monotonic clock. */
export class LiveResource {
  readonly name: string;
  readonly definition: ResourceDefinition;
  readonly #context: ResourceContext;
  #state: ResourceState = { type: 'closed' };
  #settling: Promise<void> | undefined;

  constructor(name: string, definition: ResourceDefinition, context: ResourceContext) {
    this.name = name;
    this.definition = definition;
    this.#context = context;
  }

  /** The live object. Throws `resource_unavailable` if there is none. */
  get value(): unknown {
    const state = this.#state;
    if (state.type === 'open') return state.value;
    throw state.type === 'failed' ? state.error : this.#unavailable('is not open: the worker does not run, or is about to open it again');
  }

  get health(): ResourceHealth {
    const state = this.#state;
    return state.type === 'failed' ? { state: 'failed', message: state.error.message } : { state: state.type };
  }

  /** The position of its opening among those of all resources; 0 if it is not open. */
  get openOrder(): number {
    return this.#state.type === 'open' ? this.#state.openOrder : 0;
  }

  /** True if it has to be opened or checked before a call that names it may use it. */
  isDue(now: number): boolean {
    const state = this.#state;
    if (state.type !== 'open') return true;
    return this.definition.health !== undefined && now - state.checkedAt >= this.definition.healthEveryMs;
  }

  /** The same for a call that may not need it: an opening that has just failed is not repeated. */
  isDueToAll(now: number): boolean {
    return this.#state.type === 'failed' ? now - this.#state.at >= PAUSE_AFTER_FAILURE_MS : this.isDue(now);
  }

  /**
   * Opens or checks the resource; concurrent calls share one attempt. Rejects with `resource_unavailable`; the next use
   * tries again. `stop` aborts an opening.
   */
  settle(stop: AbortSignal): Promise<void> {
    return (this.#settling ??= this.#settle(stop).finally(() => (this.#settling = undefined)));
  }

  /** Closes the resource, after a running opening or check. Never rejects: failures are logged. */
  async close(): Promise<void> {
    await this.#settling?.catch(() => undefined);
    const state = this.#state;
    this.#state = { type: 'closed' };
    if (state.type === 'open') await this.#dispose(state.value);
  }

  async #settle(stop: AbortSignal): Promise<void> {
    if (this.#state.type === 'open') {
      const { value, openOrder } = this.#state;
      const problem = await this.#problem(value, stop);
      // A check that was aborted by the end of the worker is inconclusive.
      if (problem === undefined || stop.aborted) {
        this.#state = { type: 'open', value, checkedAt: performance.now(), openOrder };
        return;
      }
      this.#context.log(`Resource "${this.name}" is unhealthy (${problem}): it is closed and opened again`);
      this.#state = { type: 'closed' };
      await this.#dispose(value);
    }
    await this.#open(stop);
  }

  async #open(stop: AbortSignal): Promise<void> {
    const { open, timeoutMs } = this.definition;
    const { secret } = this.#context;
    try {
      const onLateResult = (value: unknown): void => void this.#dispose(value);
      const value = await withTimeout((signal) => open({ secret, signal }), { ms: timeoutMs, stop, onLateResult });
      openings += 1;
      this.#state = { type: 'open', value, checkedAt: performance.now(), openOrder: openings };
    } catch (thrown) {
      const cause = this.#redacted(thrown);
      const error = this.#unavailable(`cannot be opened: ${cause.message}`, { cause });
      this.#state = { type: 'failed', error, at: performance.now() };
      throw error;
    }
  }

  /** Returns what is wrong with the live object, if anything is. */
  async #problem(value: unknown, stop: AbortSignal): Promise<string | undefined> {
    const { health, timeoutMs } = this.definition;
    if (health === undefined) return undefined;
    try {
      const answer = await withTimeout(() => health(value), { ms: timeoutMs, stop });
      return answer === false ? 'its "health" says false' : undefined;
    } catch (error) {
      return this.#redacted(error).message;
    }
  }

  async #dispose(value: unknown): Promise<void> {
    const { close, timeoutMs } = this.definition;
    if (close === undefined) return;
    try {
      await withTimeout(() => close(value), { ms: timeoutMs });
    } catch (error) {
      this.#context.log(`Resource "${this.name}" has not closed: ${this.#redacted(error).message}`);
    }
  }

  /** Returns the error without secrets: many messages contain addresses with passwords. */
  #redacted(thrown: unknown): Error {
    const { redact } = this.#context;
    const error = new Error(redact(errorMessage(thrown)));
    const stack = memberOf(thrown, 'stack');
    if (typeof stack === 'string') error.stack = redact(stack);
    return error;
  }

  #unavailable(what: string, options?: ErrorOptions): LonghaulError {
    return new LonghaulError('resource_unavailable', `Resource "${this.name}" of the worker ${what}`, options);
  }
}
