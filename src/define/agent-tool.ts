import { z } from 'zod';
import type { ToolCaller } from '../core/domain/agent.ts';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { type LimitOptions, plainLimits } from '../core/domain/limits.ts';
import { type AnyAgent, type OutputOf, shareProblem } from './agent-definition.ts';
import type { ApprovalOption } from './approvals.ts';
import { defineTool, type ObjectSchema } from './define-tool.ts';
import { nonEmpty, type OptionTable, requireKnown } from './option-checks.ts';
import type { AgentToolDefinition, ToolDefinition } from './tool-definition.ts';

/** The default `parameters`: the task as text. */
const REQUEST = z.object({ request: z.string().describe('The task, in full: the agent sees nothing else of this conversation.') });

/** The options of `agentTool`. */
export interface AgentToolOptions<Parameters extends ObjectSchema> {
  /** Letters, digits, `_` and `-`, at most 64. Default: the name of the agent. */
  name?: string;
  /** Tells the model what the agent does and when to ask it. */
  description?: string;
  /** A label for people, as for any tool. */
  label?: string;
  /** The arguments of the model. Default: `{request: string}`, whose text the agent gets; it gets other arguments as JSON. */
  parameters?: Parameters;
  /** The fields of the run's deps that the agent gets. Default: none. */
  share?: readonly string[];
  /** The limits of one run, in place of the agent's own and of an equal share of what the parent has left. Capped at what is left. */
  limits?: LimitOptions;
  /** True if the agent's result ends the run and becomes its result: no model call follows. Only the model may call such a tool. */
  final?: boolean;
  /** True if the agent remembers: the calls of one run are turns of one session, which ends with the run. Not together with `final`. */
  kept?: boolean;
  /** The calls that wait for a decision, as for any other tool. Default `never`. */
  approval?: ApprovalOption<z.output<Parameters>, JsonObject>;
  /** The callers of the tool: `model`, `code`, or both. Default: both; with `final`, only `model`. */
  callers?: readonly ToolCaller[];
  /** False if its calls must never overlap with another call of the same response. Default true. */
  parallel?: boolean;
  /** Bytes of JSON that an answer may have in the conversation. Default 64,000. */
  maxResultBytes?: number;
}

const AGENT_TOOL_OPTIONS: OptionTable<AgentToolOptions<ObjectSchema>> = {
  name: true,
  description: true,
  label: true,
  parameters: true,
  share: true,
  limits: true,
  final: true,
  kept: true,
  approval: true,
  callers: true,
  parallel: true,
  maxResultBytes: true,
};

/**
 * Makes a tool from an agent, or from the name of an agent of the worker. Each call is a child run with its own conversation, or with
 * `kept` a turn of a session, and the model reads its answer. Throws a `UsageError` that names the tool and the option if one cannot
 * work, such as a field that the agent's deps do not have.
 *
 * @example
 * const research = agentTool(researcher, { description: 'Finds sources on a question.', share: ['tenant'] });
 */
export function agentTool<Agent extends AnyAgent, Parameters extends ObjectSchema = typeof REQUEST>(
  agent: Agent | string,
  options: AgentToolOptions<Parameters> = {},
): ToolDefinition<z.output<Parameters>, Record<string, unknown>, OutputOf<Agent>> {
  const agentName = nameOf(agent);
  const { name = agentName, description, limits, share = [], final = false, kept = false, parameters, approval, ...others } = options;
  const owner = `tool "${name}"`;
  requireKnown(owner, options, AGENT_TOOL_OPTIONS);
  checkKept(owner, kept, { final, agent });
  const execute = (): never => {
    throw new LonghaulError('internal', `"${name}" runs an agent: its calls are separate runs`);
  };
  const tool = defineTool({
    ...others,
    ...callersOf(owner, final, others.callers),
    name,
    description: description ?? `Gives a task to the agent "${agentName}", and returns its answer.`,
    parameters: parameters ?? REQUEST,
    ...(approval === undefined ? {} : { approval: approval as ApprovalOption<unknown, JsonObject> }),
    execute,
  });
  checkShare(owner, share);
  const definition = typeof agent === 'string' ? undefined : agent;
  const problem = definition === undefined ? undefined : shareProblem(definition, share);
  if (problem !== undefined) throw new UsageError(`${owner}: "share": ${problem}`);
  const ofTool: AgentToolDefinition = {
    name: agentName,
    ...defined({ definition }),
    share: [...share],
    ...(limits === undefined ? {} : { limits: plainLimits(owner, limits) }),
    ...(final ? { final: true as const } : {}),
    ...(kept ? { kept: true as const } : {}),
    ...(parameters === undefined ? { request: true as const } : {}),
  };
  return { ...tool, agent: ofTool } as ToolDefinition<z.output<Parameters>, Record<string, unknown>, OutputOf<Agent>>;
}

function nameOf(agent: AnyAgent | string): string {
  if (typeof agent === 'string') return nonEmpty('agentTool: the name of the agent', agent);
  if (agent?.kind === 'longhaul.agent') return agent.name;
  throw new UsageError(
    'agentTool: the first argument is not an agent: pass what defineAgent returned, or the name of an agent of the worker',
  );
}

/** A result that ends the run belongs to the model: code would continue with it. */
function callersOf(owner: string, final: boolean, callers: readonly ToolCaller[] | undefined): { callers?: readonly ToolCaller[] } {
  if (!final) return defined({ callers });
  if (callers?.includes('code'))
    throw new UsageError(`${owner}: "final" ends the run, and code would continue with the result: leave "code" out of "callers"`);
  return { callers: ['model'] };
}

function checkKept(owner: string, kept: unknown, { final, agent }: { final: boolean; agent: AnyAgent | string }): void {
  if (typeof kept !== 'boolean') throw new UsageError(`${owner}: "kept" is ${JSON.stringify(kept)}: write true or false`);
  if (kept && final) throw new UsageError(`${owner}: "final" ends the run, and "kept" is for further calls: leave one of them out`);
  if (kept && typeof agent !== 'string' && agent.flow !== undefined)
    throw new UsageError(`${owner}: "${agent.name}" is a flow, which ends with its answer: leave "kept" out`);
}

function checkShare(owner: string, share: unknown): void {
  if (Array.isArray(share) && share.every((name) => typeof name === 'string' && name !== '')) return;
  throw new UsageError(`${owner}: "share" is ${JSON.stringify(share)}: write a list of the names of fields of the deps`);
}
