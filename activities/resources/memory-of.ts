import type { MemoryStore } from '../../src/memory/memory-store.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Returns the memory that the agents of a worker use; undefined if the worker has none. */
export function memoryOf({ memory }: Pick<ActivityRuntime, 'memory'>): MemoryStore | undefined {
  return memory;
}
