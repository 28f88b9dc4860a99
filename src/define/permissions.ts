import { UsageError } from '../core/domain/errors.ts';
import {
  matchesGlob,
  type PermissionMode,
  type PermissionRule,
  type Permissions,
  permissionsProblem,
  RULE_LISTS,
  rulesForNoTool,
  TOOL_CATEGORIES,
  type ToolCategory,
} from '../core/domain/permissions.ts';

/** A rule, or the glob for the name of a tool alone. */
export type PermissionRuleOption = string | PermissionRule;

/** The rules for the calls of an agent: `deny` goes before `ask`, and `ask` before `mode`. */
export interface PermissionOptions {
  /** Default `default`. */
  mode?: PermissionMode;
  /** Calls that get an error result, which names the rule. */
  deny?: readonly PermissionRuleOption[];
  /** Calls that wait for a decision, in every mode. */
  ask?: readonly PermissionRuleOption[];
  /** The only calls that are not denied, in every mode: an empty list denies all. */
  allow?: readonly PermissionRuleOption[];
  /** Calls that wait for a decision in the mode `default`, and not in the mode `permissive`. */
  approvalRequired?: readonly PermissionRuleOption[];
  /** True if calls of tools with the category `execute` need no decision in the mode `permissive`. Default false. */
  allowUnattendedExecute?: boolean;
}

/**
 * Returns the permissions as they are pinned. Throws a `UsageError` with the path and the rule for an unknown mode, a bad glob, and,
 * if `tools` has the names of all tools, for a rule that none of them matches.
 */
export function agentPermissions(owner: string, options: PermissionOptions, tools?: readonly string[]): Permissions {
  const permissions = plainPermissions(owner, options);
  if (tools !== undefined) requireToolsOfRules(owner, permissions, tools);
  return permissions;
}

/** Throws a `UsageError` for a rule whose glob matches none of the tools. */
export function requireToolsOfRules(owner: string, permissions: Permissions, tools: readonly string[]): void {
  const [unknown] = rulesForNoTool(permissions, (glob) => tools.some((name) => matchesGlob(glob, name, true)));
  if (unknown === undefined) return;
  throw new UsageError(`${owner}: permissions.${unknown} matches no tool: the agent has ${tools.join(', ') || 'none'}`);
}

/** Returns the permissions as plain JSON, with all rules as objects. Throws a `UsageError` with the path of what cannot be in them. */
export function plainPermissions(owner: string, options: PermissionOptions): Permissions {
  const fields: unknown = options;
  if (typeof fields !== 'object' || fields === null) throw new UsageError(`${owner}: permissions are an object: {mode, deny, ask, allow}`);
  const { mode = 'default', allowUnattendedExecute, ...lists } = options;
  const permissions: Record<string, unknown> = { mode };
  for (const [key, value] of Object.entries(lists)) {
    if (value === undefined) continue;
    const isList = RULE_LISTS.some((list) => list === key) && Array.isArray(value);
    permissions[key] = isList ? value.map((rule: unknown) => (typeof rule === 'string' ? { tool: rule } : rule)) : value;
  }
  if (allowUnattendedExecute) permissions['allowUnattendedExecute'] = allowUnattendedExecute;
  const problem = permissionsProblem(permissions);
  if (problem !== undefined) throw new UsageError(`${owner}: permissions.${problem}`);
  return JSON.parse(JSON.stringify(permissions)) as Permissions;
}

/** Returns the category of a tool, if it has one. */
export function toolCategory(owner: string, category: unknown): { category?: ToolCategory } {
  if (category === undefined) return {};
  const known = TOOL_CATEGORIES.find((one) => one === category);
  if (known !== undefined) return { category: known };
  throw new UsageError(`${owner}: "category" is ${JSON.stringify(category)}: write one of ${TOOL_CATEGORIES.join(', ')}`);
}
