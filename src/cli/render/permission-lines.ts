import { type PermissionChange, RULE_LISTS, ruleText } from '../../core/domain/permissions.ts';
import type { Headline } from '../output.ts';

/** Returns permissions that were set in one line, with its style: the mode, and the rules by their lists. */
export function permissionsText({ permissions }: PermissionChange): Headline {
  const rules = RULE_LISTS.flatMap((list) => (permissions[list] ?? []).map((rule) => ruleText(list, rule)));
  return { text: `set the permissions: ${[`mode ${permissions.mode}`, ...rules].join('; ')}`, look: 'yellow' };
}
