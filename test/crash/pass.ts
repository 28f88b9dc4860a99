/** The process that is killed: that of the worker, or that of the Temporal server. */
export const PASSES = ['worker', 'server'] as const;

export type Pass = (typeof PASSES)[number];
