import { errorMessage, LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import { isResource } from '../../src/define/context/resource.ts';
import type { Resources } from '../../src/define/context/run-context.ts';
import { LiveResource, type ResourceContext, type ResourceHealth } from './live-resource.ts';

/**
 * The resources of one worker: plain values, and live objects that are opened before it polls (or on first use),
 * checked before they are used, and closed when it has drained. The pool can then be opened again.
 */
export class ResourcePool {
  readonly #values: Resources;
  readonly #live: ReadonlyMap<string, LiveResource>;
  /** The view of tools that name no resources, and of predicates and hooks. */
  readonly #shared: ResourceView;
  /** Views by the list of names of a tool, which is the same object for all its calls. */
  readonly #named = new WeakMap<readonly string[], ResourceView>();
  /** Aborted when the pool is closed; undefined while it is not open. */
  #closing: AbortController | undefined;
  #opening: Promise<void> | undefined;
  /** The number of workers that have opened the pool and not closed it yet. */
  #holders = 0;
  #isOpen = false;
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

  /** Throws a UsageError for a name that the worker does not have. `owner` names the tool that needs it. */
  require(owner: string, names: readonly string[]): void {
    const missing = names.find((name) => !Object.hasOwn(this.#values, name));
    if (missing === undefined) return;
    const known = Object.keys(this.#values).map((name) => `"${name}"`);
    throw new UsageError(
      `${owner} needs the resource "${missing}", but the worker has none of that name (it has: ${known.join(', ') || 'none'}): add it to "resources"`,
    );
  }

  /** True if everything that is not lazy is open: the promise of `open` need not be awaited. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Opens the resources that are not lazy, one after the other. If one cannot be opened, closes those before it and
   * rejects with `resource_unavailable`. Each worker that opens the pool closes it: it stays open until the last one
   * does.
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
   * Returns the resources that a tool names, all open and healthy; without names, those that are not lazy, each of
   * which throws on access if it is not available. Rejects with `resource_unavailable` and the name of the resource.
   */
  use(names?: readonly string[]): Promise<Resources> {
    const now = performance.now();
    if (names === undefined) return this.#shared.live.some((one) => one.isDueToAll(now)) ? this.#settleShared(now) : this.#shared.ready;
    const view = this.#viewOf(names);
    return view.live.some((one) => one.isDue(now)) ? this.#settleNamed(view, now) : view.ready;
  }

  /**
   * Returns the health of each live resource. Checks first those whose last check is too old, and retries those that
   * have failed.
   */
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
      this.#isOpen = true;
    } catch (error) {
      this.#holders = 0;
      await this.#closeAll();
      const what = `${errorMessage(error)}. The worker does not start without it: check what its "open" needs, or make it lazy`;
      throw new LonghaulError('resource_unavailable', what, { cause: error instanceof Error ? error.cause : error });
    }
  }

  async #closeAll(): Promise<void> {
    this.#closing?.abort(new Error('the worker closes what it has'));
    this.#closing = undefined;
    this.#opening = undefined;
    this.#isOpen = false;
    const inOrder = [...this.#live.values()].toSorted((one, other) => other.openOrder - one.openOrder);
    for (const one of inOrder) await one.close();
  }
}

/** The resources that a tool sees, created once for all its calls. */
interface ResourceView {
  /** The live resources among them: each property returns the current object. */
  readonly live: readonly LiveResource[];
  readonly resources: Resources;
  /** Already fulfilled with `resources`: the result of a use that has nothing to wait for. */
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
