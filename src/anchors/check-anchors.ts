import { cutText } from '../core/domain/byte-budgets.ts';
import { errorMessage, thrownText } from '../core/domain/errors.ts';
import type { AnchorBreach, AnchorVerdict } from '../core/domain/verdicts.ts';
import { type Anchor, type AnchorContext, severityOf } from './anchor.ts';
import { admitsIgnorance, agnosticFallback } from './built-in/agnostic-fallback.ts';
import { noHallucination } from './built-in/no-hallucination.ts';
import { requiresCitation } from './built-in/requires-citation.ts';

/** The anchors that an honest "I do not know" need not keep: there is nothing to cite. */
const EVIDENCE: readonly Anchor[] = [noHallucination, requiresCitation];

/** The most violations of one anchor that are recorded, and the most bytes of each. */
const MAX_VIOLATIONS = 50;
const MAX_BYTES = 2_000;

/**
 * Checks an answer with all anchors, one after the other, even if some are breached. An answer that admits that the model does not know
 * is excused from the anchors that ask for evidence, if `AgnosticFallback` is among the anchors. A check that throws is a breach.
 */
export async function checkAnchors(text: string, anchors: readonly Anchor[], context: AnchorContext): Promise<AnchorVerdict> {
  const isExcused = anchors.includes(agnosticFallback) && admitsIgnorance(text);
  const verdict: AnchorVerdict = { passed: true, checked: [], breaches: [], warnings: [], excused: [] };
  for (const anchor of anchors) {
    if (isExcused && EVIDENCE.includes(anchor)) {
      verdict.excused.push(anchor.name);
      continue;
    }
    verdict.checked.push(anchor.name);
    const violations = await violationsOf(anchor, text, context);
    if (violations.length === 0) continue;
    const breach: AnchorBreach = { anchor: anchor.name, violations };
    (severityOf(anchor) === 'error' ? verdict.breaches : verdict.warnings).push(breach);
  }
  return { ...verdict, passed: verdict.breaches.length === 0 };
}

async function violationsOf(anchor: Anchor, text: string, context: AnchorContext): Promise<string[]> {
  try {
    const violations: unknown = await anchor.check(text, context);
    if (Array.isArray(violations) && violations.every((one) => typeof one === 'string')) return limited(violations);
    return [unchecked(anchor, `its check returned ${thrownText(violations)}, not a list of texts`)];
  } catch (error) {
    return [unchecked(anchor, errorMessage(error))];
  }
}

function unchecked({ name }: Anchor, reason: string): string {
  return cutText(`${name} could not be checked: ${reason}`, MAX_BYTES);
}

function limited(violations: readonly string[]): string[] {
  const first = violations.slice(0, MAX_VIOLATIONS).map((violation) => cutText(violation, MAX_BYTES));
  const missing = violations.length - first.length;
  return missing === 0 ? first : [...first, `${missing} more violations`];
}
