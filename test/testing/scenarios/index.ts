import { ANSWERS, MODEL_LISTS } from './answers.ts';
import { CODE, CODE_CELLS } from './code-cells.ts';
import { CODE_DECISIONS } from './code-decisions.ts';
import { CODE_ENDINGS } from './code-endings.ts';
import { CODE_REPLIES, JSON_REPLIES } from './reply-formats.ts';
import { DECISIONS } from './decisions.ts';
import { EFFECTS } from './effects.ts';
import { LIMITS, MESSAGES, WINDOWS } from './limits.ts';
import { MEMORY } from './memory.ts';
import { OPENINGS } from './openings.ts';
import { FLOWS, HANDOFFS, PARALLEL_FLOWS } from './several-agents.ts';
import { HOOKED_AGENTS } from './hooked-agents.ts';
import { GUARDRAILS } from './guardrails.ts';
import { PERMISSIONS } from './permissions.ts';
import { HOOKS } from './hooks.ts';
import type { Scenario } from './scenario.ts';
import { SKILLS } from './skills.ts';
import { SUB_AGENT_LIMITS, SUB_AGENTS } from './sub-agents.ts';
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
