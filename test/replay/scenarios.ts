import type { ProgramScenario, Scenario } from './scenario.ts';
import { bursts } from './scenarios/agents/bursts.ts';
import { guardrails, memory, quietHours, skills } from './scenarios/agents/capabilities.ts';
import { code } from './scenarios/agents/code.ts';
import { decisions } from './scenarios/agents/decisions.ts';
import { endings, executions, hostWorkflows } from './scenarios/agents/executions.ts';
import { hooked } from './scenarios/agents/hooks.ts';
import { messages, sessions } from './scenarios/agents/messages.ts';
import { handoffs, keptAgents, subAgents } from './scenarios/agents/several-agents.ts';
import { effects, hostedTools, localTools } from './scenarios/agents/tools.ts';
import { children } from './scenarios/programs/children.ts';
import { interruptions, programDecisions } from './scenarios/programs/decisions.ts';
import { programExecutions } from './scenarios/programs/executions.ts';
import { asksAndLimits, blocks, steps, units } from './scenarios/programs/steps.ts';

/** The scenarios of programs, by the run id. */
const programScenarios: Record<string, ProgramScenario> = {
  ...steps,
  ...blocks,
  ...units,
  ...programDecisions,
  ...programExecutions,
  ...children,
  ...interruptions,
  ...asksAndLimits,
};

/** The scenarios, by the run id, which is the name of the file. */
export const scenarios: Record<string, Scenario> = {
  ...endings,
  ...executions,
  ...hostWorkflows,
  ...messages,
  ...decisions,
  ...localTools,
  ...effects,
  ...bursts,
  ...code,
  ...guardrails,
  ...quietHours,
  ...handoffs,
  ...sessions,
  ...skills,
  ...memory,
  ...subAgents,
  ...keptAgents,
  ...hooked,
  ...hostedTools,
  ...programScenarios,
};
