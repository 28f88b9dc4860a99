/** The words for how much a model thinks before it answers. A provider that knows others, or none, says so in a warning. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** How much a model thinks before it answers. @useDeclaredType */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];
