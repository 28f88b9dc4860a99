const STREAMS = 'the product records whole answers and streams none to a caller';

/**
 * The operations of the case files without a counterpart in the product, by suite, each with the reason. Their cases are
 * skipped.
 */
export const WITHOUT_COUNTERPART: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'react.run_result': { 'react.stream': STREAMS },
  'nous.runtime': { 'stream.complete': STREAMS },
};
