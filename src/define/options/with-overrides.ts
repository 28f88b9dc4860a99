import { modelName } from '../../core/domain/model.ts';
import type { RunOverrides } from '../../core/domain/run-input.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { AnyAgent } from '../agent-definition.ts';
import { namesForModel } from '../code/names-for-model.ts';
import { checkSettings } from './model-settings.ts';

/** Returns the agent with the overrides of one run. Throws a UsageError, which names the agent, for a model that is not `provider/model` and for settings that cannot work. */
export function withOverrides(agent: AnyAgent, { model, settings }: RunOverrides): AnyAgent {
  if (model === undefined && settings === undefined) return agent;
  if (agent.flow !== undefined)
    throw new UsageError(`flow "${agent.name}" has no model and no settings of its own: set them for its agents`);
  const owner = `agent "${agent.name}"`;
  const merged = { ...agent.settings, ...settings };
  // The tools of MCP servers are known only once a worker has listed them.
  const tools = agent.mcp === undefined ? namesForModel(agent) : undefined;
  return {
    ...agent,
    ...(model === undefined ? {} : { model: modelName(owner, model) }),
    settings: settings === undefined ? merged : checkSettings(owner, merged, { tools, output: agent.output }),
  };
}

/** Checks the overrides of a start for an agent that is known only by its name. Throws a UsageError. */
export function checkOverrides(name: string, { model, settings }: RunOverrides): void {
  const owner = `agent "${name}"`;
  if (model !== undefined) modelName(owner, model);
  if (settings !== undefined) checkSettings(owner, settings, { tools: undefined, output: undefined });
}
