import { isResource } from '../../src/define/context/resource.ts';
import type { Resources } from '../../src/define/context/run-context.ts';
import { UsageError } from '../../src/core/domain/errors/error.ts';
import type { LiveResource } from './live-resource.ts';

/** The resources that a tool sees, created once for all its calls. */
export interface ResourceView {
  /** The live resources among them: each property returns the current object. */
  readonly live: readonly LiveResource[];
  readonly resources: Resources;
  /** Already fulfilled with `resources`: the result of a use that has nothing to wait for. */
  readonly ready: Promise<Resources>;
}

/** Returns the named resources; without names, all but the lazy ones. Reading any other throws a UsageError. */
export function resourceView(
  values: Resources,
  live: ReadonlyMap<string, LiveResource>,
  names: readonly string[] | undefined,
): ResourceView {
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
