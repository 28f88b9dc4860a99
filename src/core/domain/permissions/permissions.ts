/** The modes of permissions. */
export const PERMISSION_MODES = ['default', 'permissive', 'strict'] as const;

/**
 * `default`: calls run, but those that `approvalRequired` names wait for a decision. `permissive`: `approvalRequired` does not
 * hold, and only calls of tools with the category `execute` wait. `strict`: only what `allow` names may be called, and each call waits.
 */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** The categories of tools. */
export const TOOL_CATEGORIES = ['read', 'write', 'execute', 'communicate', 'search'] as const;

/** The kind of effect that a tool has. */
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];

/** A rule: a call matches if all of its fields match. */
export interface PermissionRule {
  /** A glob for the name of the tool; upper and lower case are the same. */
  tool?: string;
  /** A glob for the category of the tool. A tool without one never matches. */
  category?: string;
  /** Globs for arguments, by their path: `path`, `options.mode`, `files.0`; `*` in a path stands for each member. */
  args?: Record<string, string>;
}

/** The rules for the calls of a run, as they are pinned in its snapshot. */
export interface Permissions {
  mode: PermissionMode;
  /** Calls that get an error result. */
  deny?: PermissionRule[];
  /** Calls that wait for a decision, in every mode. */
  ask?: PermissionRule[];
  /** Absent: all calls. Otherwise every other call is denied, in every mode. */
  allow?: PermissionRule[];
  /** Calls that wait for a decision in the mode `default`. */
  approvalRequired?: PermissionRule[];
  /** In the mode `permissive`, calls of tools with the category `execute` do not wait either. */
  allowUnattendedExecute?: true;
}

/** The lists of rules. */
export const RULE_LISTS = ['deny', 'ask', 'allow', 'approvalRequired'] as const;
