import { isResource } from '../../src/define/resource.ts';
import type { Resources } from '../../src/define/run-context.ts';
import { errorMessage, LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import { LiveResource, type ResourceHealth, type Surroundings } from './live-resource.ts';
import { resourceView, type ResourceView } from './resource-view.ts';

/**
 * The resources of one worker: plain values, and live objects that are opened before it polls (or when they are first
 * needed), checked before they are used, and closed when it has drained. It can be opened again after that.
 */
export class ResourcePool {
  readonly #given: Resources;
  readonly #live: ReadonlyMap<string, LiveResource>;
  /** What is seen without names: by tools that name none, and by predicates and hooks. */
  readonly #shared: ResourceView;
  /** By the list of a tool, which is the same for all its calls. */
  readonly #named = new WeakMap<readonly string[], ResourceView>();
  /** Aborted when it is closed; undefined while it is not open. */
  #closing: AbortController | undefined;
  #opening: Promise<void> | undefined;
  /** How many have opened it, and not closed it yet. */
  #holders = 0;
  #isOpen = false;
  /** While it closes. */
  #goingDown: Promise<void> | undefined;

  constructor(given: Resources, surroundings: Surroundings) {
    this.#given = { ...given };
    const live = Object.entries(given).flatMap(([name, value]): [string, LiveResource][] =>
      isResource(value) ? [[name, new LiveResource(name, value, surroundings)]] : [],
    );
    this.#live = new Map(live);
    this.#shared = resourceView(this.#given, this.#live, undefined);
  }

  /** Throws a UsageError for a name that the worker does not have. `owner` is who needs it. */
  require(owner: string, names: readonly string[]): void {
    const missing = names.find((name) => !Object.hasOwn(this.#given, name));
    if (missing === undefined) return;
    const known = Object.keys(this.#given).map((name) => `"${name}"`);
    throw new UsageError(
      `${owner} needs the resource "${missing}", but the worker has none of that name (it has: ${known.join(', ') || 'none'}): add it to "resources"`,
    );
  }

  /** All that is not lazy is open: what `open` gives need not be waited for. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Opens what is not lazy, one after the other. Rejects with `resource_unavailable` for the first that cannot be opened,
   * after those before it are closed. Each that has opened it closes it: it is open until the last does.
   */
  open(): Promise<void> {
    this.#holders += 1;
    return (this.#opening ??= this.#openAll());
  }

  /** Closes what is open once nobody holds it, the last opened first. Never rejects: what goes wrong is logged. */
  async close(): Promise<void> {
    if (this.#holders === 0) return;
    this.#holders -= 1;
    if (this.#holders > 0) return;
    await (this.#goingDown = this.#closeAll().finally(() => (this.#goingDown = undefined)));
  }

  /**
   * What a tool that names these resources sees, all open and healthy; without names what is not lazy, and a resource
   * that is not available throws where it is read. Rejects with `resource_unavailable`, naming it.
   */
  use(names?: readonly string[]): Promise<Resources> {
    const now = performance.now();
    if (names === undefined) return this.#shared.live.some((one) => one.isDueToAll(now)) ? this.#settleShared(now) : this.#shared.ready;
    const view = this.#viewOf(names);
    return view.live.some((one) => one.isDue(now)) ? this.#settleNamed(view, now) : view.ready;
  }

  /** How each live resource stands. What is open and was not checked for long, or has failed, is seen to first. */
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
    const view = resourceView(this.#given, this.#live, names);
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
    // Throws for each that is closed because the worker does not run.
    for (const one of live) void one.value;
    return resources;
  }

  /** Opens or checks these; none where the worker does not run. */
  #settling(due: readonly LiveResource[]): Promise<void>[] {
    const signal = this.#closing?.signal;
    return signal === undefined ? [] : due.map((one) => one.settle(signal));
  }

  async #openAll(): Promise<void> {
    const { signal } = (this.#closing = new AbortController());
    if (this.#goingDown !== undefined) await this.#goingDown;
    try {
      for (const one of this.#shared.live) await one.settle(signal);
      this.#isOpen = true;
    } catch (error) {
      this.#holders = 0;
      await this.#closeAll();
      const what = `${errorMessage(error)}. The worker does not start without it: see to what its "open" needs, or make it lazy`;
      throw new LonghaulError('resource_unavailable', what, { cause: error instanceof Error ? error.cause : error });
    }
  }

  async #closeAll(): Promise<void> {
    this.#closing?.abort(new Error('the worker closes what it has'));
    this.#closing = undefined;
    this.#opening = undefined;
    this.#isOpen = false;
    const inOrder = [...this.#live.values()].toSorted((one, other) => other.turn - one.turn);
    for (const one of inOrder) await one.close();
  }
}
