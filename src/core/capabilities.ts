import { type ChildPorts, children } from './loop/agent-calls.ts';
import { archive } from './loop/archive.ts';
import type { Capability } from './loop/capability.ts';
import { compose } from './loop/points.ts';
import { code } from './loop/cell-phase.ts';
import type { CodePorts } from './loop/code-cells.ts';
import { compaction, type CompactionPorts } from './loop/compaction.ts';
import { flows } from './loop/flows.ts';
import { type GuardrailPorts, guardrails } from './loop/guardrails.ts';
import { type HandoffPorts, handoffs } from './loop/handoffs.ts';
import { type HookPorts, hooks } from './loop/hooks.ts';
import { permissions } from './loop/permissions.ts';
import { recall } from './loop/recall.ts';
import { skills } from './loop/skills.ts';

/** Every effect of a run: of the loop, and of all capabilities. */
export interface AllPorts extends HookPorts, GuardrailPorts, CompactionPorts, HandoffPorts, ChildPorts, CodePorts {}

/**
 * All capabilities of a run, in the order in which they act at a point. At each gate of calls that is: permissions before handoffs, so
 * that a call that is not allowed is not one that another transfer has made needless. An ending by the calls of a step is that of a flow,
 * then that of an agent as a tool, then that of code. Nothing else depends on the order.
 */
export const CAPABILITIES: readonly Capability[] = [hooks, guardrails, permissions, skills, recall, compaction, handoffs, flows, children, code, archive];

compose(CAPABILITIES);
