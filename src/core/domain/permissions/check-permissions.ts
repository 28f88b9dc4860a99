import { type CheckedCall, matchesRule } from './matches-rule.ts';
import type { PermissionRule, Permissions } from './permissions.ts';
import { ruleText } from './rule-text.ts';

/** The verdict on a call: each reason is the text of a rule. A call that is denied may also be one that would wait. */
export interface PermissionVerdict {
  /** The reason why the call gets an error result. */
  denied?: string;
  /** The reason why the call waits for a decision. */
  asked?: string;
}

/** Returns the verdict of one policy. A mode that is not known denies, and asks about, every call. */
export function checkPermissions(permissions: Permissions, call: CheckedCall): PermissionVerdict {
  const denied = denial(permissions, call);
  const asked = question(permissions, call);
  return { ...(denied === undefined ? {} : { denied }), ...(asked === undefined ? {} : { asked }) };
}

/** Returns the verdict of all policies that hold for a run: a denial or a question of one of them is enough. */
export function checkAllPermissions(layers: readonly Permissions[], call: CheckedCall): PermissionVerdict {
  const verdicts = layers.map((permissions) => checkPermissions(permissions, call));
  return { ...verdicts.find(({ asked }) => asked !== undefined), ...verdicts.find(({ denied }) => denied !== undefined) };
}

/** True if no call of the tool could run, with any arguments: it is not offered to the model, and not to code. */
export function isDeniedByName(
  layers: readonly Permissions[],
  { name, category }: { name: string; category?: string | undefined },
): boolean {
  const call: CheckedCall = { tool: name, category };
  return layers.some(({ mode, deny = [], allow }) => {
    if (deny.some((rule) => matchesRule(rule, call, 'some'))) return true;
    // Rules for arguments may allow some calls of the tool.
    if (allow !== undefined) return !allow.some(({ args: _, ...rule }) => matchesRule(rule, call, 'every'));
    return mode !== 'default' && mode !== 'permissive';
  });
}

function denial({ mode, deny = [], allow }: Permissions, call: CheckedCall): string | undefined {
  const rule = deny.find((one) => matchesRule(one, call, 'some'));
  if (rule !== undefined) return `the rule ${ruleText('deny', rule)} denies it`;
  if (allow !== undefined) return allow.some((one) => matchesRule(one, call, 'every')) ? undefined : 'no rule of "allow" allows it';
  return mode === 'default' || mode === 'permissive' ? undefined : `the mode "${mode}" allows only what "allow" names`;
}

function question({ mode, ask = [], approvalRequired = [], allowUnattendedExecute }: Permissions, call: CheckedCall): string | undefined {
  const rule = find(ask, call);
  if (rule !== undefined) return `the rule ${ruleText('ask', rule)} asks about it`;
  if (mode === 'permissive') {
    const isAttended = call.category === 'execute' && allowUnattendedExecute !== true;
    return isAttended ? 'the mode "permissive" asks about tools that execute' : undefined;
  }
  if (mode !== 'default') return `the mode "${mode}" asks about every call`;
  const required = find(approvalRequired, call);
  return required === undefined ? undefined : `the rule ${ruleText('approvalRequired', required)} asks about it`;
}

function find(rules: readonly PermissionRule[], call: CheckedCall): PermissionRule | undefined {
  return rules.find((rule) => matchesRule(rule, call, 'some'));
}
