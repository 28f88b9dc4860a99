import type { BuiltInAnchor } from './anchor.ts';
import { agnosticFallback } from './built-in/agnostic-fallback.ts';
import { auditTrail } from './built-in/audit-trail.ts';
import { chainOfThoughtValidator } from './built-in/chain-of-thought-validator.ts';
import { childSafe } from './built-in/child-safe.ts';
import { factualOnly } from './built-in/factual-only.ts';
import { noBias } from './built-in/no-bias.ts';
import { noCodeExecution } from './built-in/no-code-execution.ts';
import { noHallucination } from './built-in/no-hallucination.ts';
import { privacyGuard } from './built-in/privacy-guard.ts';
import { requiresCitation } from './built-in/requires-citation.ts';
import { safeOutput } from './built-in/safe-output.ts';
import { syllogismChecker } from './built-in/syllogism-checker.ts';

/** The anchors of the product, in the order of AXON. */
export const BUILT_IN_ANCHORS: readonly BuiltInAnchor[] = [
  noHallucination,
  factualOnly,
  safeOutput,
  privacyGuard,
  noBias,
  childSafe,
  noCodeExecution,
  auditTrail,
  syllogismChecker,
  chainOfThoughtValidator,
  requiresCitation,
  agnosticFallback,
];

/** Returns the anchor of the product with that name; undefined if there is none. */
export function builtInAnchor(name: string): BuiltInAnchor | undefined {
  return BUILT_IN_ANCHORS.find((anchor) => anchor.name === name);
}
