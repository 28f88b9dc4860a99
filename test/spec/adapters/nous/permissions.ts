import { checkPermissions, type PermissionMode, type PermissionRule, type Permissions } from '../../../../src/core/domain/permissions.ts';
import { UsageError } from '../../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { plainPermissions } from '../../../../src/define/permissions.ts';
import type { Operation } from '../adapter.ts';
import { flag, list, only, text } from '../fields.ts';

const POLICY_KEYS = ['mode', 'deny', 'deny_prefixes', 'allow', 'allow_prefixes', 'approval_required', 'allow_unattended_execute'];

/** The verdict of a policy on a tool. */
export const checkPolicy: Operation = {
  input: ['policy', 'tool', 'category'],
  expect: ['blocked', 'requires_approval'],
  perform({ policy, tool, category }: JsonObject): JsonObject {
    // A policy of a case has not been through its definition: its mode may be any.
    return toVerdict(toPermissions(policy), text(tool), text(category) || undefined);
  },
};

/** The definition of a policy, which an unknown mode fails. */
export const buildPolicy: Operation = {
  input: POLICY_KEYS,
  expect: ['error'],
  perform(input: JsonObject): JsonObject {
    try {
      plainPermissions('case', toPermissions(input));
      return { error: false };
    } catch (error) {
      if (error instanceof UsageError) return { error: true };
      throw error;
    }
  },
};

function toVerdict(permissions: Permissions, tool: string, category: string | undefined): JsonObject {
  const { denied, asked } = checkPermissions(permissions, { tool, category });
  return { blocked: denied !== undefined, requires_approval: asked !== undefined };
}

function toPermissions(policy: JsonValue | undefined): Permissions {
  const fields = only('A policy', policy, POLICY_KEYS);
  const rules = (key: string, prefixed?: string): PermissionRule[] =>
    [...names(fields[key]), ...(prefixed === undefined ? [] : prefixes(fields[prefixed]))].map((tool) => ({ tool }));
  const allow = rules('allow', 'allow_prefixes');
  return {
    mode: text(fields['mode'], 'default') as PermissionMode,
    deny: rules('deny', 'deny_prefixes'),
    // An empty list of the case counts as no list.
    ...(allow.length === 0 ? {} : { allow }),
    approvalRequired: rules('approval_required'),
    ...(flag(fields['allow_unattended_execute']) ? { allowUnattendedExecute: true as const } : {}),
  };
}

/** Names of the case are not globs: wildcard characters are taken literally. */
function names(given: JsonValue | undefined): string[] {
  return list(given).map((name) => text(name).replace(/[*?\\]/g, '\\$&'));
}

function prefixes(given: JsonValue | undefined): string[] {
  return names(given).map((prefix) => `${prefix}*`);
}
