/** The note on an event about the memory: the number of entries that it gave, or why it was not available. */
export type MemoryNote = { entries: number } | { unavailable: string };
