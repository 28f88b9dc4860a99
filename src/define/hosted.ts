import { jsonBytes } from '../core/domain/byte-budgets.ts';
import type { HostedTool } from '../core/domain/content.ts';
import { UsageError } from '../core/domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../core/domain/json.ts';

/** A hosted tool as `hosted` returns it: checked. */
export interface HostedToolDefinition extends Readonly<HostedTool> {
  /** Tells it apart from other definitions. */
  readonly kind: 'longhaul.hosted_tool';
  /** The capability that it comes from. Absent: it belongs to its agent. */
  readonly capability?: string;
}

/** The most bytes of the options: they are a part of every request. */
const MOST_ARGS_BYTES = 16_000;

/**
 * Makes a tool that the provider of the model runs by itself, such as a search of the web: for `tools` of `defineAgent`. The id is the name
 * of the provider and its name of the tool; the options are passed on unchanged. Throws a `UsageError` for an id or options that cannot be.
 *
 * @example
 * defineAgent({ name: 'scout', model: 'anthropic/claude-sonnet-4-5', tools: [hosted('anthropic.web_search_20250305', { maxUses: 3 })] });
 */
export function hosted(id: string, args: JsonObject = {}): HostedToolDefinition {
  const [, name] = /^[a-z][a-z0-9-]{0,63}\.([A-Za-z][A-Za-z0-9_-]{0,63})$/.exec(id) ?? [];
  if (name === undefined) {
    throw new UsageError(
      `hosted: ${JSON.stringify(id)} is no id of a hosted tool: write the provider and its tool, such as "anthropic.web_search_20250305"`,
    );
  }
  const problem = argsProblem(args);
  if (problem !== undefined) throw new UsageError(`hosted tool "${id}": the options ${problem}`);
  // The version of a tool is no part of what rules and people call it.
  return { kind: 'longhaul.hosted_tool', id, name: name.replace(/_\d{8}$/, ''), args };
}

function argsProblem(args: unknown): string | undefined {
  if (!isJsonObject(args)) return 'are no object';
  if (isTooDeep(args)) return 'are nested too deep';
  const wrong = Object.entries(args).find(([, value]) => !isJson(value));
  if (wrong !== undefined) return `have a value that is no JSON: "${wrong[0]}"`;
  const bytes = jsonBytes(args);
  return bytes > MOST_ARGS_BYTES ? `have ${bytes} bytes of JSON, over ${MOST_ARGS_BYTES}` : undefined;
}

function isJson(value: unknown): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  return isJsonObject(value) && Object.values(value).every(isJson);
}

/** True for a hosted tool among the tools of an agent. */
export function isHostedTool(tool: { readonly kind: string }): tool is HostedToolDefinition {
  return tool.kind === 'longhaul.hosted_tool';
}
