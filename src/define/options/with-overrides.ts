import { modelName } from '../../core/domain/agent/model-name.ts';
import type { RunOverrides } from '../../core/domain/run/run-overrides.ts';
import type { AnyAgent } from '../agent-definition.ts';
import { checkSettings } from './model-settings.ts';

/** The agent as one run has it. Throws a UsageError, which names the agent, for a model that is no `provider/model` and for settings that could not work. */
export function withOverrides(agent: AnyAgent, { model, settings }: RunOverrides): AnyAgent {
  if (model === undefined && settings === undefined) return agent;
  const owner = `agent "${agent.name}"`;
  const merged = { ...agent.settings, ...settings };
  // What tools MCP servers have is known once a worker asks them.
  const tools = agent.mcp === undefined ? agent.tools.map(({ name }) => name) : undefined;
  return {
    ...agent,
    ...(model === undefined ? {} : { model: modelName(owner, model) }),
    settings: settings === undefined ? merged : checkSettings(owner, merged, { tools, output: agent.output }),
  };
}

/** Checks what a start says of an agent that is known by its name alone. Throws a UsageError. */
export function checkOverrides(name: string, { model, settings }: RunOverrides): void {
  const owner = `agent "${name}"`;
  if (model !== undefined) modelName(owner, model);
  if (settings !== undefined) checkSettings(owner, settings, { tools: undefined, output: undefined });
}
