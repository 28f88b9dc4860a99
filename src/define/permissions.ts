import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { SET_PERMISSIONS_INPUT, type SetPermissionsInput } from '../core/domain/permission-requests.ts';
import {
  matchesGlob,
  type PermissionMode,
  type PermissionRule,
  type Permissions,
  permissionsProblem,
  RULE_LISTS,
  rulesForNoTool,
} from '../core/domain/permissions.ts';
import { requestProblem } from '../core/input-checks.ts';
import type { AgentPart, BundledPart } from './agent-part.ts';

/**
 * A rule, or only the glob for the name of a tool. `Name`: the known tool names, which editors suggest. Any other text is allowed as
 * well; the intersection keeps the names in the type.
 */
export type PermissionRuleOption<Name extends string = string> =
  | Name
  | (string & {})
  | (Omit<PermissionRule, 'tool'> & { tool?: Name | (string & {}) });

/** The rules for an agent's tool calls: `deny` takes precedence over `ask`, and `ask` over `mode`. `Name`: the names of its tools. */
export interface PermissionOptions<Name extends string = string> {
  /** Default `default`. */
  mode?: PermissionMode;
  /** Calls that get an error result that names the rule. */
  deny?: readonly PermissionRuleOption<Name>[];
  /** Calls that wait for a decision, in every mode. */
  ask?: readonly PermissionRuleOption<Name>[];
  /** The only calls that are not denied, in every mode: an empty list denies all. */
  allow?: readonly PermissionRuleOption<Name>[];
  /** Calls that wait for a decision in the mode `default`, and not in the mode `permissive`. */
  approvalRequired?: readonly PermissionRuleOption<Name>[];
  /** True if calls of tools with the category `execute` need no decision in the mode `permissive`. Default false. */
  allowUnattendedExecute?: boolean;
}

/** The rules of an agent. They may also be built elsewhere, without the tool names in their type. `Name`: these names. */
export type PermissionsOption<Name extends string = string> = PermissionOptions<Name> | PermissionOptions;

/** The agent option for permissions. */
export interface AgentPermissions<Name extends string = string> {
  /** The rules for the calls of tools: which are denied, and which wait for a decision. Default: all calls may run. */
  permissions?: PermissionsOption<Name>;
}

/** The agent field that holds its permissions. */
export interface PermissionFields {
  /** The rules for the calls of its tools. Absent: all may run. */
  readonly permissions?: Permissions;
}

/** Permissions as a part of an agent. */
export const permissionPart: AgentPart<AgentPermissions, PermissionFields> = {
  options: { permissions: ['`{ allow, ask, deny }`', 'all calls may run', '[rules](permissions.md) for the calls of tools'] },
  define: (owner, { permissions }) => (permissions === undefined ? {} : { permissions: plainPermissions(owner, permissions) }),
  checkTools(owner, { permissions }, tools) {
    if (permissions !== undefined) requireToolsOfRules(owner, permissions, tools);
  },
};

/** The lists of rules that a capability may have: they deny calls or make them wait. Only the agent may say which calls run at all. */
const NARROWING_LISTS = ['deny', 'ask', 'approvalRequired'] as const;

/** The lists of permissions that a bundle may add to: they only restrict an agent. @useDeclaredType */
export type NarrowingList = (typeof NARROWING_LISTS)[number];

/** The rules of a capability: they deny calls or make them wait for a decision, and never allow one. */
export interface CapabilityPermissions<Name extends string = string> extends Pick<PermissionOptions<Name>, NarrowingList> {}

/** The rules of a capability. They may also be built elsewhere, without the tool names in their type. `Name`: these names. */
export type CapabilityPermissionsOption<Name extends string = string> = CapabilityPermissions<Name> | CapabilityPermissions;

/** The capability option for permissions. */
export interface NarrowingPermissions<Name extends string = string> {
  /** Rules that deny calls or make them wait. */
  permissions?: CapabilityPermissionsOption<Name>;
}

/** The rules that a capability brings. */
export interface BundledPermissions {
  /** Rules that are added, with the name of the capability. */
  readonly permissions: Readonly<Partial<Record<NarrowingList, readonly PermissionRule[]>>>;
}

/** Permissions as a part of bundles. Rules only deny calls or make them wait, so their order does not matter. */
export const bundledPermissions: BundledPart<NarrowingPermissions, BundledPermissions, AgentPermissions> = {
  options: { permissions: true },
  define: (owner, { permissions = {} }, name) => ({ permissions: narrowingRules(owner, name, permissions) }),
  merge(_, { permissions: own }, bundles) {
    if (own !== undefined && (typeof own !== 'object' || own === null)) return {};
    const lists = NARROWING_LISTS.flatMap((list) => {
      const rules = bundles.flatMap(({ permissions }) => permissions[list] ?? []);
      const ownRules = own?.[list] ?? [];
      return rules.length === 0 || !Array.isArray(ownRules) ? [] : [[list, [...(ownRules as PermissionRule[]), ...rules]] as const];
    });
    return lists.length === 0 ? {} : { permissions: { ...own, ...Object.fromEntries(lists) } };
  },
};

/** Returns the rules with the name of their capability. */
function narrowingRules(owner: string, capability: string, permissions: CapabilityPermissions): BundledPermissions['permissions'] {
  const rules = plainPermissions(owner, permissions);
  const wider = Object.keys(permissions).find((key) => !NARROWING_LISTS.some((list) => list === key));
  if (wider !== undefined) {
    const known = NARROWING_LISTS.map((list) => `"${list}"`).join(', ');
    throw new UsageError(
      `${owner}: "permissions.${wider}" would decide about all calls of an agent: set it in the "permissions" of the agent, and only ${known} here`,
    );
  }
  return Object.fromEntries(
    NARROWING_LISTS.flatMap((list) => (rules[list] === undefined ? [] : [[list, rules[list].map((rule) => ({ ...rule, capability }))]])),
  );
}

/** Throws a `UsageError` for a rule whose glob matches none of the tools. */
export function requireToolsOfRules(owner: string, permissions: Permissions, tools: readonly string[]): void {
  const [unknown] = rulesForNoTool(permissions, (glob) => tools.some((name) => matchesGlob(glob, name, true)));
  if (unknown === undefined) return;
  throw new UsageError(`${owner}: permissions.${unknown} matches no tool: the agent has ${tools.join(', ') || 'none'}`);
}

/** Returns the permissions as plain JSON, with all rules as objects. Throws a `UsageError` with the path of an invalid value. */
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

/** Returns the request that sets the permissions of a run. Throws `invalid_input` before it is sent if the run would refuse its form. */
export function setPermissionsInput(
  runId: string,
  { permissions, ...request }: Omit<SetPermissionsInput, 'permissions'> & { permissions: PermissionOptions },
): SetPermissionsInput {
  const input: SetPermissionsInput = { ...request, permissions: sentPermissions(runId, permissions) };
  const problem = requestProblem(SET_PERMISSIONS_INPUT, input);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The permissions of run "${runId}" were not set: ${problem}`);
  return input;
}

function sentPermissions(runId: string, permissions: PermissionOptions): Permissions {
  try {
    return plainPermissions(`run "${runId}"`, permissions);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The permissions were not set: ${errorMessage(error)}`);
  }
}
