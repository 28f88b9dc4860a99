import { bursts } from './scenarios/agents/bursts.ts';
import { code } from './scenarios/agents/code.ts';
import { decisions } from './scenarios/agents/decisions.ts';
import { effects } from './scenarios/agents/effects.ts';
import { endings } from './scenarios/agents/endings.ts';
import { executions } from './scenarios/agents/executions.ts';
import { guardrails } from './scenarios/agents/guardrails.ts';
import { handoffs } from './scenarios/agents/handoffs.ts';
import { hooked } from './scenarios/agents/hooks.ts';
import { hostedTools } from './scenarios/agents/hosted.ts';
import { hostWorkflows } from './scenarios/agents/host-workflows.ts';
import { keptAgents } from './scenarios/agents/kept-agents.ts';
import { localTools } from './scenarios/agents/local-tools.ts';
import { messages } from './scenarios/agents/messages.ts';
import { sessions } from './scenarios/agents/sessions.ts';
import { memory } from './scenarios/agents/memory.ts';
import { skills } from './scenarios/agents/skills.ts';
import { subAgents } from './scenarios/agents/sub-agents.ts';
import { programScenarios } from './scenarios/programs/program-scenarios.ts';
import type { Scenario } from './scenario.ts';

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
