/**
 * The operations of the case files without a counterpart in the product, by suite, each with the reason. Their cases are
 * skipped.
 */
export const WITHOUT_COUNTERPART: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
