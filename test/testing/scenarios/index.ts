import { ANSWERS } from './answers.ts';
import { CODE_CELLS } from './code-cells.ts';
import { CODE_DECISIONS } from './code-decisions.ts';
import { CODE_ENDINGS } from './code-endings.ts';
import { CODE_REPLIES } from './code-replies.ts';
import { CODE } from './code.ts';
import { DECISIONS } from './decisions.ts';
import { EFFECTS } from './effects.ts';
import { JSON_REPLIES } from './json-replies.ts';
import { LIMITS, MESSAGES, WINDOWS } from './limits.ts';
import { MEMORY } from './memory.ts';
import { MODEL_LISTS } from './model-lists.ts';
import { OPENINGS } from './openings.ts';
import { FLOWS } from './several-agents/flows.ts';
import { HOOKED_AGENTS } from './several-agents/hooked-agents.ts';
import { PARALLEL_FLOWS } from './several-agents/parallel-flows.ts';
import { HANDOFFS } from './several-agents/handoffs.ts';
import { GUARDRAILS } from './rules/guardrails.ts';
import { PERMISSIONS } from './rules/permissions.ts';
import { HOOKS } from './rules/hooks.ts';
import type { Scenario } from './scenario.ts';
import { SKILLS } from './skills.ts';
import { SUB_AGENT_LIMITS } from './several-agents/sub-agent-limits.ts';
import { SUB_AGENTS } from './several-agents/sub-agents.ts';
import { TOOLS } from './tools.ts';
import { UPDATES } from './updates.ts';

/** All scenarios that both kits run: the kits count as equal if their results in these are equal. */
export const SCENARIOS: readonly Scenario[] = [
  ...ANSWERS,
  ...MODEL_LISTS,
  ...OPENINGS,
  ...TOOLS,
  ...EFFECTS,
  ...UPDATES,
  ...DECISIONS,
  ...GUARDRAILS,
  ...PERMISSIONS,
  ...HOOKS,
  ...LIMITS,
  ...MESSAGES,
  ...WINDOWS,
  ...JSON_REPLIES,
  ...CODE_REPLIES,
  ...CODE,
  ...CODE_CELLS,
  ...CODE_ENDINGS,
  ...CODE_DECISIONS,
  ...HANDOFFS,
  ...SKILLS,
  ...MEMORY,
  ...SUB_AGENTS,
  ...SUB_AGENT_LIMITS,
  ...FLOWS,
  ...PARALLEL_FLOWS,
  ...HOOKED_AGENTS,
];
