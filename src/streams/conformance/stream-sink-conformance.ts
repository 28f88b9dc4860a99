import { CARRYING_CASES } from './carrying-cases.ts';
import { ENDING_CASES } from './ending-cases.ts';
import { LOSING_CASES } from './losing-cases.ts';
import { READING_CASES } from './reading-cases.ts';
import type { StreamSinkCase } from './sink-case.ts';

/**
 * The behaviours that every sink of live output has. They work with any test runner:
 * `for (const { name, run } of streamSinkConformance) test(name, () => run({ open: (side) => mySink.open(contextOf(side)) }))`.
 */
export const streamSinkConformance: readonly StreamSinkCase[] = [...READING_CASES, ...LOSING_CASES, ...CARRYING_CASES, ...ENDING_CASES];
