/** Bounds the young generation, which V8 otherwise enlarges at will, by up to 100 MB, and keeps so. */
export const BOUNDED_YOUNG_GENERATION = '--max-semi-space-size=16';

/**
 * The flags of a process whose memory is measured. Its heaps can be collected before a reading, and the young generation has a fixed size:
 * so the other memory is visible.
 */
export const MEASURED_MEMORY: readonly string[] = [
  '--expose-gc',
  '--min-semi-space-size=16',
  BOUNDED_YOUNG_GENERATION,
  '--import',
  new URL('../endless/thread-heap.ts', import.meta.url).href,
];
