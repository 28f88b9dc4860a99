/** The process that is killed: the worker or the Temporal server. */
export const PASSES = ['worker', 'server'] as const;

export type Pass = (typeof PASSES)[number];
