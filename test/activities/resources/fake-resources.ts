import { ResourcePool } from '../../../activities/resources/resource-pool.ts';
import type { Resources } from '../../../src/define/context.ts';
import { resource, type ResourceDefinition, type ResourceOptions } from '../../../src/define/resources.ts';

/** The object that a resource of these tests opens. */
export interface Opened {
  /** The name and the number of times that it was opened, such as `db 1`. */
  id: string;
}

/** Records the calls to the resources of a test, in order, and controls their failures. */
export class FakeResources {
  readonly lines: string[] = [];
  readonly logged: string[] = [];
  /** By name: the error that opening throws. */
  readonly failing = new Map<string, Error>();
  /** By name: the verdict of the health check. */
  readonly unhealthy = new Set<string>();
  readonly #opened = new Map<string, number>();

  /** A resource that records the calls to it. */
  resource(name: string, more: Partial<ResourceOptions<Opened>> = {}): ResourceDefinition<Opened> {
    return resource<Opened>({
      open: () => {
        this.lines.push(`open ${name}`);
        const failure = this.failing.get(name);
        if (failure !== undefined) throw failure;
        const count = (this.#opened.get(name) ?? 0) + 1;
        this.#opened.set(name, count);
        return { id: `${name} ${count}` };
      },
      close: ({ id }) => this.lines.push(`close ${id}`),
      health: ({ id }) => {
        this.lines.push(`check ${id}`);
        return !this.unhealthy.has(name);
      },
      ...more,
    });
  }

  /** A pool of these resources. Each secret is `the value of` its name. */
  pool(resources: Resources): ResourcePool {
    return new ResourcePool(resources, {
      secret: (name) => Promise.resolve(`the value of ${typeof name === 'string' ? name : name.name}`),
      redact: (text) => text.replaceAll('hunter2', '[secret "password"]'),
      log: (line) => this.logged.push(line),
    });
  }

  /** Returns the calls since the last time that it was called. */
  take(): string[] {
    return this.lines.splice(0);
  }
}
