import { type AnyAgent, parseDeps } from '../../src/define/agent-definition.ts';
import type { AnyTool, McpServerDefinition } from '../../src/define/tool-definition.ts';
import { type ErrorCode, UsageError } from '../../src/core/domain/errors.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { MissingThing } from '../../src/core/domain/missing-definitions.ts';
import { agentModels, summaryModelsOf, type ToolOwner } from '../../src/core/domain/agent.ts';
import { partsOfModelName, type ModelClient } from '../../src/core/domain/model.ts';
import {
  checkSharedParts,
  defineParts,
  modelsOfParts,
  type PartFields,
  type PartOptions,
  toolNamesOfParts,
} from '../../src/define/all-parts.ts';
import { type MissingOnWorkerError, missingOnWorker } from '../attempts/failure.ts';

interface ProgramTools {
  toolNames: readonly string[];
  tool(name: string): AnyTool | undefined;
}

/** The agents and model providers of a worker, by name. */
export class AgentRegistry {
  readonly #agents = new Map<string, AnyAgent>();
  readonly #providers: Map<string, ModelClient>;
  readonly #programTools: ProgramTools;
  /** The fields that the worker adds to all its agents. */
  readonly shared: PartFields;

  /** Throws a UsageError for two agents or two definitions with the same name, and for an agent with a missing provider or handoff. */
  constructor(
    agents: readonly AnyAgent[],
    providers: Readonly<Record<string, ModelClient>>,
    programTools: ProgramTools = { toolNames: [], tool: () => undefined },
    shared: PartOptions = {},
  ) {
    this.shared = defineParts('the worker', shared);
    this.#programTools = programTools;
    this.#providers = new Map(Object.entries(providers));
    for (const agent of agents) {
      if (this.#agents.has(agent.name)) throw new UsageError(`two agents are named "${agent.name}": give each its own name`);
      this.#agents.set(agent.name, agent);
      checkSharedParts(this.shared, agent.name, agent);
      const listed = agentModels(agent);
      for (const [index, model] of [...listed, ...summaryModelsOf(agent), ...modelsOfParts(agent)].entries()) {
        if (this.#providers.has(partsOfModelName(model).provider)) continue;
        const place = agent.fallback !== undefined && index < listed.length ? ` ("model[${index}]")` : '';
        throw new UsageError(
          `agent "${agent.name}" uses model "${model}"${place}, but the worker has no provider "${partsOfModelName(model).provider}" (it has: ${quotedNames(this.#providers)}): add it to "providers"`,
        );
      }
    }
    this.#requireHandoffs();
  }

  /** Throws a UsageError if an agent hands over to an agent that the worker lacks, or to a flow, and if a flow has such an agent. */
  #requireHandoffs(): void {
    for (const { name, handoffs = [], flow } of this.#agents.values()) {
      const [owner, names] =
        flow === undefined ? [`agent "${name}": "handoffs"`, handoffs.map((one) => one.name)] : [`flow "${name}": "agents"`, flow.agents];
      const isFlow = names.find((one) => this.#agents.get(one)?.flow !== undefined);
      if (isFlow !== undefined) throw new UsageError(`${owner} names "${isFlow}", which is a flow: name agents`);
      const unknown = names.find((one) => !this.#agents.has(one));
      if (unknown === undefined) continue;
      throw new UsageError(
        `${owner} names the agent "${unknown}", which the worker does not have (it has: ${quotedNames(this.#agents)}): add it to "agents"`,
      );
    }
  }

  /** The names of all tools of all agents, including tools from their capabilities. */
  get toolNames(): string[] {
    return [
      ...new Set([...this.#agents.values()].flatMap((agent) => [...agent.tools.map(({ name }) => name), ...toolNamesOfParts(agent)])),
    ];
  }

  get agents(): AnyAgent[] {
    return [...this.#agents.values()];
  }

  /** The names of the model providers. */
  get providerNames(): string[] {
    return [...this.#providers.keys()];
  }

  /** True if an agent has MCP servers: the names of their tools are not known before a run starts. */
  get hasMcpServers(): boolean {
    return [...this.#agents.values()].some(({ mcp = [] }) => mcp.length > 0);
  }

  /** Returns an agent. Throws `unknown_agent` with the known names. */
  agent(name: string): AnyAgent {
    const agent = this.#agents.get(name);
    if (agent !== undefined) return agent;
    throw missingOnWorker('unknown_agent', `No agent "${name}" is registered in this worker`, {
      kind: 'agent',
      name,
      known: [...this.#agents.keys()],
    });
  }

  /** Returns the model client for `provider/model`. Throws `unknown_provider` with the known names. */
  provider(model: string): ModelClient {
    const provider = this.#providers.get(partsOfModelName(model).provider);
    if (provider !== undefined) return provider;
    const thing: MissingThing = { kind: 'provider', name: partsOfModelName(model).provider, known: [...this.#providers.keys()] };
    throw missingOnWorker('unknown_provider', `No provider "${thing.name}" for model "${model}" in this worker`, thing);
  }

  /** Returns this worker's version of a tool, or undefined if its agent or the tool has been removed since the run began. */
  tool(owner: ToolOwner, toolName: string): AnyTool | undefined {
    if (owner.ofProgram) return this.#programTools.tool(toolName);
    return this.#agentOf(owner)?.tools.find((tool) => tool.name === toolName);
  }

  /** Returns this worker's version of an MCP server, or undefined if the agent or the server has been removed since the run began. */
  mcpServer(agentName: string, serverName: string): McpServerDefinition | undefined {
    return this.#agents.get(agentName)?.mcp?.find((server) => server.name === serverName);
  }

  /** Returns the fields of this worker's agent that belong to capabilities; undefined if it lacks the agent. */
  parts(owner: ToolOwner): PartFields | undefined {
    return this.#agentOf(owner);
  }

  /** Returns the failure of a call whose tool or MCP server this worker does not have. */
  missingTool(owner: ToolOwner, toolName: string, serverName?: string): MissingOnWorkerError {
    const agent = this.#agentOf(owner);
    const tools = owner.ofProgram ? this.#programTools.toolNames : agent?.tools.map(({ name }) => name);
    const known = serverName === undefined ? tools : agent?.mcp?.map(({ name }) => name);
    const kind = serverName === undefined ? 'tool' : 'MCP server';
    const name = serverName ?? toolName;
    return this.missingPart('unknown_tool', { kind, name, known: [...(known ?? [])] }, owner);
  }

  /**
   * Returns the error of a worker that lacks a part of an agent or a program. If it lacks the agent, that is what is missing: the agent may
   * have been renamed or removed since the run began.
   */
  missingPart(code: ErrorCode, part: MissingThing, { agentName, ofProgram }: ToolOwner, detail = ''): MissingOnWorkerError {
    const what = `${part.kind} "${part.name}"${detail}`;
    if (ofProgram || this.#agents.has(agentName))
      return missingOnWorker(code, `No ${what} of ${ofProgram ? 'program' : 'agent'} "${agentName}" in this worker`, part);
    return missingOnWorker(code, `No agent "${agentName}" in this worker, of which the run needs ${what}`, {
      kind: 'agent',
      name: agentName,
      known: [...this.#agents.keys()],
    });
  }

  /** Returns deps as the agent's schema parses them (defaults filled in), or unchanged if this worker lacks the agent. */
  deps(owner: ToolOwner, deps: JsonObject): unknown {
    const agent = this.#agentOf(owner);
    return agent === undefined ? deps : parseDeps(agent, deps);
  }

  /** Returns the zod schema of the agent's output, if this worker has the agent. */
  outputZod(owner: ToolOwner): NonNullable<AnyAgent['output']>['zod'] | undefined {
    return this.#agentOf(owner)?.output?.zod;
  }

  /** Returns the agent that owns the tools of a run, if this worker has it. */
  #agentOf({ agentName, ofProgram }: ToolOwner): AnyAgent | undefined {
    return ofProgram ? undefined : this.#agents.get(agentName);
  }
}

function quotedNames(map: ReadonlyMap<string, unknown>): string {
  return [...map.keys()].map((name) => `"${name}"`).join(', ') || 'none';
}
