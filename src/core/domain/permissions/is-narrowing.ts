import { ruleCovers } from './matches-rule.ts';
import type { PermissionRule, Permissions } from './permissions.ts';

/** The rule that every call matches. */
const EVERY_CALL: PermissionRule = {};

/**
 * True if `after` denies every call that `before` denies, and denies or asks about every call that `before` asks about. Some
 * changes for which this holds are not recognised, and then count as widening.
 */
export function isNarrowing(before: Permissions, after: Permissions): boolean {
  if (deniesAll(after)) return true;
  if (deniesAll(before)) return false;
  const denies = (rule: PermissionRule): boolean => covered(rule, after.deny);
  return (
    (before.deny ?? []).every(denies) &&
    questions(before).every((rule) => denies(rule) || covered(rule, questions(after))) &&
    (before.allow === undefined || (after.allow?.every((rule) => covered(rule, before.allow)) ?? false))
  );
}

function covered(rule: PermissionRule, rules: readonly PermissionRule[] = []): boolean {
  return rules.some((wide) => ruleCovers(wide, rule));
}

function deniesAll({ mode, deny, allow }: Permissions): boolean {
  return covered(EVERY_CALL, deny) || allow?.length === 0 || (allow === undefined && mode !== 'default' && mode !== 'permissive');
}

/** Returns the questions of the lists and of the mode as rules. */
function questions({ mode, ask = [], approvalRequired = [], allowUnattendedExecute }: Permissions): PermissionRule[] {
  if (mode === 'default') return [...ask, ...approvalRequired];
  if (mode === 'permissive') return allowUnattendedExecute ? ask : [...ask, { category: 'execute' }];
  return [EVERY_CALL];
}
