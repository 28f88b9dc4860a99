import { type ChildPorts, children } from './capabilities/children/agent-calls.ts';
import { archive } from './capabilities/archive.ts';
import type { Capability } from './kernel/capability.ts';
import { compose } from './kernel/points.ts';
import { code, type CodePorts } from './capabilities/code/code-cells.ts';
import { compaction, type CompactionPorts } from './capabilities/compaction.ts';
import { editedArguments } from './capabilities/edited-arguments.ts';
import { fallback } from './capabilities/fallback.ts';
import { flows } from './capabilities/flows.ts';
import { guardrails } from './capabilities/guardrails.ts';
import { type HandoffPorts, handoffs } from './capabilities/handoffs.ts';
import { type HookPorts, hooks } from './capabilities/hooks.ts';
import { type NotificationPorts, notifications } from './capabilities/notifications.ts';
import { permissions } from './capabilities/permissions.ts';
import { promptCache } from './capabilities/prompt-cache.ts';
import { quietHours } from './capabilities/quiet-hours.ts';
import { recall } from './capabilities/recall.ts';
import { sessions } from './capabilities/sessions.ts';
import { skills } from './capabilities/skills.ts';

/** Every effect of a run: the loop's, and those of all capabilities. */
export interface AllPorts extends HookPorts, CompactionPorts, HandoffPorts, ChildPorts, CodePorts, NotificationPorts {}

/**
 * All capabilities of a run, in the order in which they act at a point. The order matters in two places. At the gate, permissions come
 * before handoffs, so that a forbidden transfer is reported as forbidden, not as superfluous. If the calls of a step end the run in several
 * ways, a flow's ending counts first, then the ending by an agent as a tool, then by code.
 */
export const CAPABILITIES: readonly Capability[] = [
  editedArguments,
  hooks,
  guardrails,
  permissions,
  quietHours,
  skills,
  recall,
  compaction,
  handoffs,
  flows,
  children,
  code,
  sessions,
  archive,
  notifications,
  fallback,
  promptCache,
];

compose(CAPABILITIES);
