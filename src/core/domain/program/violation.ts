import type { JsonValue } from '../json/json.ts';

/** One breach of the declared type, confidence, fields or range of an answer. */
export interface Violation {
  rule:
    | 'epistemic_exclusion'
    | 'type_mismatch'
    | 'confidence_floor'
    | 'structured_type'
    | 'missing_fields'
    | 'range_below_min'
    | 'range_above_max';
  message: string;
  expected?: JsonValue;
  actual?: JsonValue;
  severity: 'error' | 'warning';
}
