import type { AnyAgent } from '../../define/agent-definition.ts';
import type { Anchor } from '../../anchors/anchor.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { reachableAgents } from './reachable-agents.ts';
import type { Resources } from '../../define/context/run-context.ts';
import { withSubAgents } from '../../define/children/sub-agents.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { ModelClient } from '../../core/domain/model/model.ts';
import type { SecretSource } from '../../secrets/secret-source.ts';
import type { EffectsLedger } from '../effects-ledger.ts';
import type { TestOptions } from '../tested-run.ts';
import type { Harness } from './harness.ts';
import { harnessAgent } from './harness-agent.ts';
import { harnessModel } from './harness-model.ts';

type Passed = Pick<TestOptions, 'memory' | 'payloadStore' | 'prices' | 'hooks' | 'authorize' | 'notify' | 'notifyEnded' | 'streams'>;

/** The parts of a test's worker, in memory and on a server. */
export interface WorkerParts extends Passed {
  agents: readonly AnyAgent[];
  programs?: readonly AnyProgram[];
  anchors?: readonly Anchor[];
  providers: Readonly<Record<string, ModelClient>>;
  resources: Resources;
  secrets?: SecretSource | readonly SecretSource[];
}

/** Returns the parts of a worker for one run of an agent. Throws a UsageError for a test without a model. */
export function workerParts(harness: Harness, agent: AnyAgent, options: TestOptions, ledger: EffectsLedger): WorkerParts {
  const agents = withSubAgents(reachableAgents([agent, ...(options.agents ?? [])]));
  const models = agents.flatMap(({ model, window }) => [model, window.summaryModel ?? model]);
  return {
    agents: agents.map((one) => harnessAgent(one, harness.plan)),
    ...commonParts(harness, { what: `agent "${agent.name}"`, models }, options, ledger),
  };
}

/** The thing that a test runs, and the models that it names. */
interface TestedModels {
  what: string;
  models: readonly string[];
}

/** Returns the parts of a worker that do not depend on what is run. Throws a UsageError for a test without a model. */
export function commonParts(
  harness: Harness,
  { what, models }: TestedModels,
  options: Passed & Pick<TestOptions, 'model' | 'resources' | 'secrets'>,
  ledger: EffectsLedger,
): Omit<WorkerParts, 'agents'> {
  const { model, resources, secrets, memory, payloadStore, prices, hooks, authorize, notify, notifyEnded, streams } = options;
  if (typeof model?.call !== 'function') throw new UsageError(`the test of ${what} has no "model": write scriptedModel([…])`);
  const client = harnessModel(harness, model);
  const names = models.map((name) => name.slice(0, Math.max(0, name.indexOf('/'))));
  return {
    providers: Object.fromEntries(names.map((name) => [name, client])),
    resources: { ledger, ...resources },
    ...(secrets === undefined ? {} : { secrets: secretSource(secrets) }),
    ...(memory === undefined ? {} : { memory }),
    ...(payloadStore === undefined ? {} : { payloadStore }),
    ...(prices === undefined ? {} : { prices }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(authorize === undefined ? {} : { authorize }),
    ...(notify === undefined ? {} : { notify }),
    ...(notifyEnded === undefined ? {} : { notifyEnded }),
    ...(streams === undefined ? {} : { streams }),
  };
}

/** Returns the source of secrets. Values by name become a source like any other. */
function secretSource(secrets: NonNullable<TestOptions['secrets']>): SecretSource | readonly SecretSource[] {
  if (Array.isArray(secrets) || typeof secrets === 'function') return secrets;
  if (isSource(secrets)) return secrets;
  const values = new Map(Object.entries(secrets));
  return (name) => values.get(name);
}

function isSource(secrets: object): secrets is Exclude<SecretSource, (name: string) => unknown> {
  return 'read' in secrets && typeof secrets.read === 'function';
}
