// Shared state: the permissions of the run.

import type { ToolSnapshot } from '../../domain/agent.ts';
import type { JsonObject } from '../../domain/json.ts';
import { checkAllPermissions, type Permissions, type PermissionVerdict } from '../../domain/permissions.ts';
import { narrowedBySkill } from '../skills/active-skills.ts';
import type { RunState } from '../state/run-state.ts';

type OfRun = Pick<RunState, 'snapshot' | 'permissions' | 'loadedSkills'>;

/** Returns the policies that hold for the run: its own, as it is now, and those that it began with from its start and the runs above it. */
export function permissionsOf({ snapshot, permissions }: OfRun): readonly Permissions[] {
  const pinned = snapshot.permissions ?? [];
  return permissions === undefined ? pinned : [permissions, ...pinned.slice(1)];
}

/** Returns the verdict on a call of a tool with these arguments: that of the active skills first. */
export function permissionVerdict(run: OfRun, tool: ToolSnapshot, args: JsonObject): PermissionVerdict {
  const { name, category } = tool;
  const narrowed = narrowedBySkill(run, tool);
  if (narrowed !== undefined) return { denied: narrowed };
  const layers = permissionsOf(run);
  return layers.length === 0 ? {} : checkAllPermissions(layers, { tool: name, category, arguments: args });
}

/** Returns the text of a denied call for the model. */
export function deniedText(tool: string, denied: string): string {
  return `The permissions of this run do not allow this call of "${tool}": ${denied}.`;
}
