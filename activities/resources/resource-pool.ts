import { errorMessage, LonghaulError, memberOf, UsageError } from '../../src/core/domain/errors.ts';
import { isResource, type ReadSecret, type ResourceDefinition } from '../../src/define/resources.ts';
import type { Resources } from '../../src/define/context.ts';
import { withTimeout } from '../attempts/attempt.ts';

/**
 * The resources of one worker: plain values, and live objects that are opened before it polls (or on first use),
 * checked before they are used, and closed when it has drained. The pool can then be opened again.
 */
export class ResourcePool {
  readonly #values: Resources;
  readonly #live: ReadonlyMap<string, LiveResource>;
  /** The view of tools that name no resources, and of users' other functions. */
  readonly #shared: ResourceView;
  /** Views by a tool's list of names, which is the same object for all its calls. */
  readonly #named = new WeakMap<readonly string[], ResourceView>();
  /** Aborted when the pool is closed; undefined while it is not open. */
  #closing: AbortController | undefined;
  #opening: Promise<void> | undefined;
  /** The number of workers that have opened the pool and not closed it yet. */
  #holders = 0;
  /** Pending while the pool closes. */
  #closingAll: Promise<void> | undefined;

  constructor(values: Resources, context: ResourceContext) {
    this.#values = { ...values };
    const live = Object.entries(values).flatMap(([name, value]): [string, LiveResource][] =>
      isResource(value) ? [[name, new LiveResource(name, value, context)]] : [],
    );
    this.#live = new Map(live);
    this.#shared = resourceView(this.#values, this.#live, undefined);
  }

  /** Throws a UsageError for a name that the worker lacks. `owner` names the tool that needs it. */
  require(owner: string, names: readonly string[]): void {
    const missing = names.find((name) => !Object.hasOwn(this.#values, name));
    if (missing === undefined) return;
    const known = Object.keys(this.#values).map((name) => `"${name}"`);
    throw new UsageError(
      `${owner} needs the resource "${missing}", but the worker has no resource of that name (it has: ${known.join(', ') || 'none'}): add it to "resources"`,
    );
  }

  /**
   * Opens the non-lazy resources sequentially. If one cannot be opened, closes the earlier ones and rejects with `resource_unavailable`.
   * Each worker that opens the pool must close it: it stays open until the last one does.
   */
  open(): Promise<void> {
    this.#holders += 1;
    return (this.#opening ??= this.#openAll());
  }

  /** Closes all resources, the last opened first, when the last worker closes the pool. Never rejects: failures are logged. */
  async close(): Promise<void> {
    if (this.#holders === 0) return;
    this.#holders -= 1;
    if (this.#holders > 0) return;
    await (this.#closingAll = this.#closeAll().finally(() => (this.#closingAll = undefined)));
  }

  /**
   * Returns the resources that a tool names, all open and healthy; without names, the non-lazy ones, each of which throws on access if it
   * is unavailable. Rejects with `resource_unavailable` and the name of the resource.
   */
  use(names?: readonly string[]): Promise<Resources> {
    const now = performance.now();
    if (names === undefined) return this.#shared.live.some((one) => one.isDueToAll(now)) ? this.#settleShared(now) : this.#shared.ready;
    const view = this.#viewOf(names);
    return view.live.some((one) => one.isDue(now)) ? this.#settleNamed(view, now) : view.ready;
  }

  /** Returns the health of each live resource. First checks resources with an outdated check, and retries failed ones. */
  async health(): Promise<Record<string, ResourceHealth>> {
    const now = performance.now();
    const known = [...this.#live.values()].filter((one) => one.health.state !== 'closed');
    await Promise.allSettled(this.#settling(known.filter((one) => one.isDueToAll(now))));
    return Object.fromEntries([...this.#live].map(([name, one]) => [name, one.health]));
  }

  #viewOf(names: readonly string[]): ResourceView {
    const known = this.#named.get(names);
    if (known !== undefined) return known;
    this.require('a tool', names);
    const view = resourceView(this.#values, this.#live, names);
    this.#named.set(names, view);
    return view;
  }

  async #settleShared(now: number): Promise<Resources> {
    const { live, resources } = this.#shared;
    await Promise.allSettled(this.#settling(live.filter((one) => one.isDueToAll(now))));
    return resources;
  }

  async #settleNamed({ live, resources }: ResourceView, now: number): Promise<Resources> {
    await Promise.all(this.#settling(live.filter((one) => one.isDue(now))));
    // Reading `value` throws for a resource that is closed because the worker does not run.
    for (const one of live) void one.value;
    return resources;
  }

  /** Opens or checks these resources; does nothing if the worker does not run. */
  #settling(due: readonly LiveResource[]): Promise<void>[] {
    const signal = this.#closing?.signal;
    return signal === undefined ? [] : due.map((one) => one.settle(signal));
  }

  async #openAll(): Promise<void> {
    const { signal } = (this.#closing = new AbortController());
    if (this.#closingAll !== undefined) await this.#closingAll;
    try {
      for (const one of this.#shared.live) await one.settle(signal);
    } catch (error) {
      this.#holders = 0;
      await this.#closeAll();
      const what = `${errorMessage(error)}. The worker does not start without it: check what its "open" needs, or make it lazy`;
      throw new LonghaulError('resource_unavailable', what, { cause: error instanceof Error ? error.cause : error });
    }
  }

  async #closeAll(): Promise<void> {
    this.#closing?.abort(new Error('the worker is closing its resources'));
    this.#closing = undefined;
    this.#opening = undefined;
    const inOrder = [...this.#live.values()].toSorted((one, other) => other.openOrder - one.openOrder);
    for (const one of inOrder) await one.close();
  }
}

/** The resources that a tool sees, created once for all its calls. */
interface ResourceView {
  /** The live resources among them: each property returns the current object. */
  readonly live: readonly LiveResource[];
  readonly resources: Resources;
  /** Already fulfilled with `resources`: the result if there is nothing to wait for. */
  readonly ready: Promise<Resources>;
}

/** Returns the named resources; without names, all but the lazy ones. Reading any other throws a UsageError. */
function resourceView(values: Resources, live: ReadonlyMap<string, LiveResource>, names: readonly string[] | undefined): ResourceView {
  const resources: Resources = {};
  const visible: LiveResource[] = [];
  for (const [name, value] of Object.entries(values)) {
    const one = live.get(name);
    const included = names === undefined ? one?.definition.lazy !== true : names.includes(name);
    if (included && one !== undefined) visible.push(one);
    Object.defineProperty(resources, name, property(name, { included, value, one }));
  }
  Object.freeze(resources);
  return { live: visible, resources, ready: Promise.resolve(resources) };
}

function property(
  name: string,
  { included, value, one }: { included: boolean; value: unknown; one: LiveResource | undefined },
): PropertyDescriptor {
  if (!included) return { get: () => notNamed(name, value), enumerable: false };
  return one === undefined ? { value, enumerable: true } : { get: () => one.value, enumerable: true };
}

function notNamed(name: string, value: unknown): never {
  const why = isResource(value) && value.lazy ? 'is lazy: it is opened for tools that name it' : 'is not among those that the tool names';
  throw new UsageError(`Resource "${name}" of the worker ${why}. Write "${name}" into "resources" of the tool`);
}

/** The time after a failure during which calls that do not name the resource do not retry it, in milliseconds. */
const PAUSE_AFTER_FAILURE_MS = 5_000;

/** The health of a resource. `failed`: it should be open, but is not. */
export interface ResourceHealth {
  /** Whether the resource is open, and whether it answers. */
  readonly state: 'closed' | 'open' | 'failed';
  /** The reason for a failure. */
  readonly message?: string;
}

/** Functions of the worker that live resources need. */
interface ResourceContext {
  secret: ReadSecret;
  /** Redacts secrets in an error of opening. */
  redact: (text: string) => string;
  log: (line: string) => void;
}

type ResourceState =
  | { type: 'closed' }
  | { type: 'open'; value: unknown; checkedAt: number; openOrder: number }
  | { type: 'failed'; error: LonghaulError; at: number };

/** The number of resources that were opened in this process: the last one opened is closed first. */
let openings = 0;

/** One resource of a worker, from opening to closing. Times use the monotonic clock. */
class LiveResource {
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

  /** The index of its opening across all resources; 0 if it is not open. */
  get openOrder(): number {
    return this.#state.type === 'open' ? this.#state.openOrder : 0;
  }

  /** True if it must be opened or checked before a call that names it. */
  isDue(now: number): boolean {
    const state = this.#state;
    if (state.type !== 'open') return true;
    return this.definition.health !== undefined && now - state.checkedAt >= this.definition.healthEveryMs;
  }

  /** The same for a call that may not need it: a recently failed opening is not repeated. */
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

  /** Returns the problem with the live object, or undefined. */
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
