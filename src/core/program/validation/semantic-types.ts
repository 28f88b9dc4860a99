/** Types of statements. They exclude one another. */
export const EPISTEMIC_TYPES = ['FactualClaim', 'Opinion', 'Uncertainty', 'Speculation'] as const;

/** Types of content. */
const CONTENT_TYPES = ['Document', 'Chunk', 'EntityMap', 'Summary', 'Translation'] as const;

/** Types of analyses. */
const ANALYSIS_TYPES = ['RiskScore', 'ConfidenceScore', 'SentimentScore', 'ReasoningChain', 'Contradiction'] as const;

/** Types that consist of others. */
const COMPOUND_TYPES = ['StructuredReport'] as const;

/** All semantic types of AXON. An answer may be declared to have any other type, too. */
export const SEMANTIC_TYPES: readonly string[] = [...EPISTEMIC_TYPES, ...CONTENT_TYPES, ...ANALYSIS_TYPES, ...COMPOUND_TYPES];

/** The bounds of a number, both inclusive. */
export interface NumberRange {
  min?: number;
  max?: number;
}

const RANGES: ReadonlyMap<string, Required<NumberRange>> = new Map([
  ['RiskScore', { min: 0, max: 1 }],
  ['ConfidenceScore', { min: 0, max: 1 }],
  ['SentimentScore', { min: -1, max: 1 }],
]);

/** True for a type that no other of these types includes. */
export function isEpistemic(type: unknown): boolean {
  return (EPISTEMIC_TYPES as readonly unknown[]).includes(type);
}

/** Returns the bounds that apply to an answer of a type: each explicit one, else that of the type. */
export function rangeOf(type: string | undefined, explicit: NumberRange = {}): NumberRange {
  const ofType = type === undefined ? undefined : RANGES.get(type);
  const min = explicit.min ?? ofType?.min;
  const max = explicit.max ?? ofType?.max;
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}
