import { errorMessage } from '../../core/domain/errors.ts';
import { isSecretReference, type SecretReference } from '../../core/domain/deps.ts';
import type { Credential, ModelClient } from '../../core/domain/model.ts';
import { agentModels, summaryModelsOf } from '../../core/domain/agent.ts';
import { counted } from '../../core/domain/text.ts';
import { type AnyAgent, withSubAgents } from '../../define/agent-definition.ts';
import { modelsOfParts } from '../../define/all-parts.ts';
import type { AgentsModule } from '../input-files.ts';
import { type CheckGroup, fail, type Finding, ok, skipped } from './check.ts';
import { CHECK_MS, type Examination } from './examination.ts';

export const AGENT_CHECKS: CheckGroup = {
  heading: 'Agents',
  checks: [
    { name: 'agents', run: checkModule },
    { name: 'agent-names', run: (examination) => withAgents(examination, checkNames) },
    { name: 'schemas', run: checkSchemas },
    { name: 'models', run: (examination) => withAgents(examination, checkModels) },
    { name: 'secrets', run: (examination) => withAgents(examination, (module) => checkSecrets(module, examination)) },
    { name: 'providers', run: (examination) => withAgents(examination, (module) => checkProviders(module, examination)) },
  ],
};

/** What the conversion of a schema says if JSON cannot represent it. */
const OF_SCHEMA = /cannot be represented in JSON/;

async function checkModule({ agents, agentsPath }: Examination): Promise<Finding> {
  const loaded = await agents;
  if (loaded.state === 'absent') {
    return skipped(
      agentsPath === undefined ? 'There is no agents.ts here: name yours with --agents.' : 'This Node does not load the agents module.',
    );
  }
  if (loaded.state === 'loaded') {
    const { module, path } = loaded;
    return ok(`${counted(module.agents.length, 'agent')} and ${counted(module.programs.length, 'program')} in "${path}".`);
  }
  if (OF_SCHEMA.test(loaded.reason)) return skipped('The agents module does not load because of a schema.');
  // The message of a module that npm has declared as CommonJS names its remedy.
  const [, remedy] = /: run (npm pkg set type=module)/.exec(loaded.reason) ?? [];
  return fail(oneSentence(loaded.reason), remedy ?? `node ${loaded.path}`);
}

/** Runs a check of the module; it is skipped without one. */
export async function withAgents(examination: Examination, check: (module: AgentsModule) => Finding | Promise<Finding>): Promise<Finding> {
  const loaded = await examination.agents;
  if (loaded.state === 'loaded') return check(loaded.module);
  return skipped(loaded.state === 'absent' ? 'There is no agents module.' : 'The agents module does not load.');
}

function oneSentence(text: string): string {
  const line = text.split('\n')[0] ?? '';
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

function checkNames({ agents, programs }: AgentsModule): Finding {
  const names = [...agents, ...programs].map(({ name }) => name);
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  if (twice.length === 0) return ok('Every agent and program has a separate name.');
  return fail(
    `Several agents are named ${twice.map((name) => `"${name}"`).join(', ')}: give each a separate name.`,
    'longhaul doctor --agents ./agents.ts',
  );
}

async function checkSchemas({ agents }: Examination): Promise<Finding> {
  const loaded = await agents;
  if (loaded.state === 'failed' && OF_SCHEMA.test(loaded.reason)) return fail(oneSentence(loaded.reason), `node ${loaded.path}`);
  if (loaded.state !== 'loaded') return skipped('There is no agents module that loads.');
  const tools = withSubAgents(loaded.module.agents).flatMap((agent) => agent.tools.map((tool) => ({ agent: agent.name, tool })));
  const loose = tools.filter(({ tool }) => tool.agent === undefined && !tool.strict);
  if (loose.length === 0) return ok(`${counted(tools.length, 'schema')} of tools can be converted, and providers can enforce each.`);
  const [{ tool } = { tool: undefined }] = loose;
  return ok(
    `${counted(tools.length, 'schema')} of tools can be converted; ${loose.length} of them are not enforced while a model writes, such as "${tool?.name}" (${tool?.strictProblem}).`,
  );
}

/** The models of an agent, each `provider/model`. */
function modelsOf(agent: AnyAgent): string[] {
  return [...agentModels(agent), ...summaryModelsOf(agent), ...modelsOfParts(agent)];
}

function providerOf(model: string): string {
  return model.slice(0, model.indexOf('/'));
}

/** The providers of a worker: those of the module, or else `openai`, as every command that runs a worker has it. */
async function providersOf({ providers }: AgentsModule): Promise<Record<string, ModelClient>> {
  if (providers !== undefined) return providers;
  const { openai } = await import('../../../activities/models/openai/openai.ts');
  return { openai: openai() };
}

async function checkModels(module: AgentsModule): Promise<Finding> {
  const providers = await providersOf(module);
  const agents = withSubAgents(module.agents);
  for (const agent of agents) {
    const lost = modelsOf(agent).find((model) => providers[providerOf(model)] === undefined);
    if (lost === undefined) continue;
    const has = Object.keys(providers).join(', ') || 'none';
    return fail(
      `Agent "${agent.name}" uses the model "${lost}", and there is no provider "${providerOf(lost)}" (there is: ${has}): add it to "providers" of the module.`,
      'longhaul doctor --agents ./agents.ts',
    );
  }
  const models = [...new Set(agents.flatMap(modelsOf))];
  return ok(
    `Each of ${counted(models.length, 'model')} has a provider: ${models.slice(0, 5).join(', ')}${models.length > 5 ? ', …' : ''}.`,
  );
}

/** Names of secrets are shown, values never. */
async function checkSecrets(module: AgentsModule, examination: Examination): Promise<Finding> {
  const needed = await neededCredentials(module);
  if (needed.length === 0) return skipped('No provider and no MCP server names a secret.');
  const missing: string[] = [];
  for (const one of needed) {
    try {
      const value = one.kind === 'variable' ? examination.machine.env[one.name] : await secretValue(module, one.name, examination);
      if (!value) missing.push(one.name);
    } catch (error) {
      return fail(`The secret "${one.name}" cannot be read: ${errorMessage(error)}.`, 'longhaul doctor --agents ./agents.ts');
    }
  }
  if (missing.length === 0) return ok(`Present, by name: ${needed.map(({ name }) => name).join(', ')}.`);
  const [first = ''] = missing;
  return fail(
    `Missing: ${missing.join(', ')}. Set ${missing.length === 1 ? 'it' : 'them'} where the worker runs.`,
    `export ${variableOf(first)}=…`,
  );
}

/** Returns the value of a secret: from the sources of the module, or else from the environment, as a worker reads it. */
async function secretValue({ secrets }: AgentsModule, name: string, { machine, secrets: read }: Examination): Promise<string | undefined> {
  if (secrets === undefined) return machine.env[variableOf(name)];
  for (const source of [secrets].flat()) {
    const value = await (typeof source === 'function' ? source(name) : source.read(name));
    if (!value) continue;
    // A provider may quote it in its refusal.
    read[`secret "${name}"`] = value;
    return value;
  }
  return undefined;
}

function variableOf(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
}

async function neededCredentials(module: AgentsModule): Promise<Credential[]> {
  const agents = withSubAgents(module.agents);
  const providers = await providersOf(module);
  const used = new Set(agents.flatMap(modelsOf).map(providerOf));
  const ofProviders = Object.entries(providers).flatMap(([name, client]) => (used.has(name) ? (client.credentials?.() ?? []) : []));
  const ofServers = agents.flatMap(({ mcp = [] }) =>
    mcp.flatMap(({ transport }) =>
      Object.values(transport.type === 'http' ? transport.headers : transport.env).flatMap((value) =>
        isSecretReference(value) ? [{ kind: 'secret' as const, name: value.name }] : [],
      ),
    ),
  );
  return [...new Map([...ofProviders, ...ofServers].map((one) => [`${one.kind} ${one.name}`, one])).values()];
}

/** Tokens that the call of `--live` may cost. */
const LIVE_TOKENS = 10;

async function checkProviders(module: AgentsModule, examination: Examination): Promise<Finding> {
  const { flags, machine } = examination;
  const models = [
    ...new Map(
      withSubAgents(module.agents)
        .flatMap(modelsOf)
        .map((model) => [providerOf(model), model]),
    ).values(),
  ];
  if (flags.live !== true) return skipped('No model is called without --live.');
  if (models.length === 0) return skipped('No agent has a model.');
  if (machine.ask === undefined) return skipped('Calls to models cost money, and there is no terminal to ask at.');
  const may = await machine.ask(`Call ${models.join(', ')}, once each, for at most ${LIVE_TOKENS} tokens? [y/N] `);
  if (!may) return skipped('No model was called.');
  const providers = await providersOf(module);
  const secret = async (one: string | SecretReference): Promise<string> => {
    const { name, prefix = '' } = typeof one === 'string' ? { name: one } : one;
    const value = await secretValue(module, name, examination);
    if (value === undefined) throw new Error(`the secret "${name}" is missing`);
    return prefix + value;
  };
  const outcomes = await Promise.all(
    models.map(async (model) => ({ model, problem: await problemOfCall(providers[providerOf(model)], model, secret) })),
  );
  const failed = outcomes.filter(({ problem }) => problem !== undefined);
  if (failed.length === 0) return ok(`Each provider answers: ${models.join(', ')}.`);
  return fail(
    failed.map(({ model, problem }) => `${model} does not answer: ${problem}`).join('; '),
    'longhaul doctor --live --agents ./agents.ts',
  );
}

async function problemOfCall(
  client: ModelClient | undefined,
  model: string,
  secret: (one: string | SecretReference) => Promise<string>,
): Promise<string | undefined> {
  if (client === undefined) return 'there is no such provider';
  const request = {
    model: model.slice(model.indexOf('/') + 1),
    instructions: [],
    conversation: [{ author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content: 'Say ok.' }] }],
    tools: [],
    settings: { maxOutputTokens: LIVE_TOKENS },
  };
  try {
    await client.call(request, { signal: AbortSignal.timeout(CHECK_MS - 200), secret });
    return undefined;
  } catch (error) {
    return oneSentence(errorMessage(error));
  }
}
