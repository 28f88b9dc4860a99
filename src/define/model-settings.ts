import { shownValue } from '../core/domain/text.ts';
import { mayCall } from '../core/code/callable-tools.ts';
import type { ModelSettings } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject } from '../core/domain/json.ts';
import { modelName } from '../core/domain/model.ts';
import { REASONING_EFFORTS } from '../core/domain/reasoning-effort.ts';
import type { RunOverrides } from '../core/domain/run-input.ts';
import { FINAL_ANSWER, RUN_CODE } from '../core/domain/tool-calls.ts';
import type { AnyAgent, OutputDefinition } from './agent-definition.ts';
import { transferToolName } from './handoffs.ts';
import { type OptionTable, requireKnown, requireKnownNames, wholeNumber } from './option-checks.ts';

const SETTINGS: OptionTable<ModelSettings> = {
  temperature: true,
  maxOutputTokens: true,
  toolChoice: true,
  parallelToolCalls: true,
  reasoningEffort: true,
  thinkTags: true,
  extra: true,
};

/** The tools and the output that the settings may refer to. */
interface SettingsContext {
  /** The names of the tools that the model may call. Undefined if they are not known yet. */
  tools: readonly string[] | undefined;
  output: OutputDefinition | undefined;
}

/** Returns the settings if they are valid; otherwise throws a UsageError that names the setting. */
export function checkSettings(owner: string, settings: ModelSettings, context: SettingsContext): ModelSettings {
  const name = (setting: string): string => `${owner}: "settings.${setting}"`;
  requireKnown(`${owner}: "settings"`, settings, SETTINGS);
  const { temperature, maxOutputTokens, toolChoice, parallelToolCalls, reasoningEffort, thinkTags, extra } = settings;
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2)) {
    throw new UsageError(`${name('temperature')} is ${shownValue(temperature)}: write a number from 0 to 2`);
  }
  if (maxOutputTokens !== undefined) wholeNumber(name('maxOutputTokens'), maxOutputTokens, 1);
  if (toolChoice !== undefined) checkToolChoice(name('toolChoice'), toolChoice, context);
  if (parallelToolCalls !== undefined && typeof parallelToolCalls !== 'boolean') {
    throw new UsageError(`${name('parallelToolCalls')} is ${JSON.stringify(parallelToolCalls)}: write true or false`);
  }
  if (reasoningEffort !== undefined && !REASONING_EFFORTS.includes(reasoningEffort)) {
    const words = REASONING_EFFORTS.map((word) => `"${word}"`).join(', ');
    throw new UsageError(
      `${name('reasoningEffort')} is ${JSON.stringify(reasoningEffort)}: write one of ${words}. A provider-specific word goes into "settings.extra"`,
    );
  }
  if (thinkTags !== undefined && thinkTags !== 'reasoning' && thinkTags !== 'text') {
    throw new UsageError(`${name('thinkTags')} is ${JSON.stringify(thinkTags)}: write "reasoning" or "text"`);
  }
  if (extra !== undefined && !isJsonObject(extra)) throw new UsageError(`${name('extra')} must be an object of JSON values`);
  return settings;
}

function checkToolChoice(name: string, choice: NonNullable<ModelSettings['toolChoice']>, { tools, output }: SettingsContext): void {
  if (choice === 'auto' || choice === 'none') return;
  const mayAnswer = output !== undefined && output.mode !== 'schema';
  if (typeof choice === 'object' && choice !== null) {
    const given: unknown = 'every' in choice ? choice.every : undefined;
    if (given !== undefined && typeof given !== 'boolean')
      throw new UsageError(`${name}.every is ${JSON.stringify(given)}: write true or false`);
    const known = 'tool' in choice ? ['tool', 'every'] : ['required', 'every'];
    requireKnownNames(name, choice, known);
  }
  if (choice === 'required' || (typeof choice === 'object' && choice !== null && 'required' in choice && choice.required)) {
    if (tools === undefined || tools.length > 0 || mayAnswer) return;
    throw new UsageError(`${name} is "required", but the agent has no tools: add one, or leave the setting out`);
  }
  if (typeof choice !== 'object' || choice === null || !('tool' in choice) || typeof choice.tool !== 'string') {
    throw new UsageError(
      `${name} is ${JSON.stringify(choice)}: write "auto", "required", "none", {tool: "name"}, {tool: "name", every: true} or {required: true, every: true}`,
    );
  }
  if (tools === undefined || tools.includes(choice.tool) || (mayAnswer && choice.tool === FINAL_ANSWER)) return;
  throw new UsageError(`${name} names the tool "${choice.tool}", which the agent does not have (it has: ${tools.join(', ') || 'none'})`);
}

/** Returns the agent with the overrides of one run. Throws a UsageError, naming the agent, for an invalid model name or settings. */
export function withOverrides(agent: AnyAgent, { model, settings }: RunOverrides): AnyAgent {
  if (model === undefined && settings === undefined) return agent;
  if (agent.flow !== undefined) throw new UsageError(`flow "${agent.name}" has neither a model nor settings: set them for its agents`);
  const owner = `agent "${agent.name}"`;
  const merged = { ...agent.settings, ...settings };
  // The tools of MCP servers are known only once a worker has listed them.
  const tools = agent.mcp === undefined ? namesForModel(agent) : undefined;
  // The model of a start replaces the whole list.
  const { fallback, ...single } = agent;
  return {
    ...single,
    ...(model === undefined ? defined({ fallback }) : { model: modelName(owner, model) }),
    settings: settings === undefined ? merged : checkSettings(owner, merged, { tools, output: agent.output }),
  };
}

/** Checks the overrides of a start for an agent that is known only by its name. Throws a UsageError. */
export function checkOverrides(name: string, { model, settings }: RunOverrides): void {
  const owner = `agent "${name}"`;
  if (model !== undefined) modelName(owner, model);
  if (settings !== undefined) checkSettings(owner, settings, { tools: undefined, output: undefined });
}

/** Returns the names of the tools that the model of an agent may call, without MCP tools. */
export function namesForModel({
  tools,
  code,
  handoffs,
}: Pick<AnyAgent, 'tools' | 'handoffs'> & { code?: AnyAgent['code'] | undefined }): string[] {
  const names = tools.filter((tool) => mayCall('model', tool)).map(({ name }) => name);
  return [...names, ...(code === undefined ? [] : [RUN_CODE]), ...transferToolName({ handoffs })];
}
