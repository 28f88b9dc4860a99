import type { ConformanceCase } from './conformance-case.ts';
import { FORGETTING_CASES } from './forgetting-cases.ts';
import { RECALLING_CASES } from './recalling-cases.ts';
import { STORING_CASES } from './storing-cases.ts';

/**
 * The behaviours that every store of memory has. Each case needs an empty store, and works with any test runner:
 * `for (const { name, run } of memoryStoreConformance) test(name, () => run(myStore()))`.
 */
export const memoryStoreConformance: readonly ConformanceCase[] = [...STORING_CASES, ...RECALLING_CASES, ...FORGETTING_CASES];
