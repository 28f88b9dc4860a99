/**
 * The flags of a process whose memory is measured. Its heaps can be collected before a reading. V8 enlarges the young generation at
 * will, by up to 100 MB, and keeps it so: with a fixed size, the other memory is visible.
 */
export const MEASURED_MEMORY: readonly string[] = [
  '--expose-gc',
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
  '--import',
  new URL('../endless/thread-heap.ts', import.meta.url).href,
];
