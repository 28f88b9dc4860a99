import type { Client } from '@temporalio/client';
import { requireKnown } from '../../define/option-checks.ts';
import type { AnyAgent, DepsOption } from '../../define/agent-definition.ts';
import type { ModelSettings } from '../../core/domain/agent.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import type { Duration } from '../../core/domain/time.ts';
import type { LimitOptions } from '../../core/domain/limits.ts';
import type { ModelName } from '../../core/domain/model.ts';
import { openingText, type RunOpening } from '../../core/domain/run-input.ts';
import { AGENT_RUN } from '../../core/protocol.ts';
import type { Principal } from '../../core/domain/run.ts';
import { AWAIT_OPTIONS } from '../read/result-options.ts';
import { type EarlierOpening, readEarlier, withEarlier } from '../earlier/begin-from.ts';
import { runInput } from './input.ts';
import { type ClientSettings, startWorkflow, type WorkflowOptions, type WorkflowStart } from './start-workflow.ts';

/**
 * The options of a start: with the deps that its agent takes, which are optional if the agent's schema requires none. A start from
 * an earlier conversation has the deps of that one, and `deps` replaces members of them.
 */
export type StartOptions<GivenDeps = unknown> = NewStart<GivenDeps> | (StartSettings & EarlierOpening & { deps?: Partial<GivenDeps> });

/** The options of a start that begins a conversation. The deps come first: the compiler names what is missing in this order. */
export type NewStart<GivenDeps = unknown> = DepsOption<GivenDeps> & RunOptions;

/** The options of a start without the deps. */
export type RunOptions = StartSettings & RunOpening;

/** The options of a start without the deps and without the conversation that the run begins with. */
export interface StartSettings extends WorkflowOptions {
  /** The state that the run begins with: JSON that tools read and change, at most 150,000 bytes. Secrets are refused, as in deps. */
  state?: JsonObject;
  /** Whom the run and its children act for: `{tenant, user, claims}`, at most 8,000 bytes of JSON. Fixed for the run, and read-only for tools. */
  principal?: Principal;
  /** Overrides limits of the agent, each by itself: `{steps: 30, costUsd: 0.5, deadline: '2h'}`. */
  limits?: LimitOptions;
  /** The longest duration of the run, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** The model of this run instead of the agent's: `provider/model`, with a provider of the worker. */
  model?: ModelName;
  /** Settings of the model, each instead of the agent's own (`extra` as a whole). At most 16,000 bytes of JSON. */
  settings?: ModelSettings;
  /** Up to 20 words of up to 100 characters. Runs are found by them (`list({tag})`), and a provider may choose its key by them. They are always in clear text. */
  tags?: readonly string[];
  /** The stream of the run and its children may travel in heartbeats, for a worker and a client with `heartbeatStreams()`. Each heartbeat is a call to the server. */
  live?: boolean;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const START_OPTIONS: Record<keyof RunOptions | 'saved' | 'previousRunId' | 'deps', true> = {
  input: true,
  messages: true,
  saved: true,
  previousRunId: true,
  deps: true,
  state: true,
  principal: true,
  runId: true,
  ifExists: true,
  limits: true,
  deadline: true,
  model: true,
  settings: true,
  tags: true,
  live: true,
  taskQueue: true,
  searchAttributes: true,
  memo: true,
  priority: true,
  fairnessKey: true,
};

/** The options that `client.run` takes in addition. */
const WAITING = AWAIT_OPTIONS;

/** The client's own settings that the start of a run uses. */
export interface RunSettings extends ClientSettings {
  /** Called with each notice for the person who starts the run. */
  onNotice?: (line: string) => void;
}

/** Starts the workflow of a run and returns its id. Throws, before anything is sent, for a run that cannot start, and a UsageError for unknown options and for messages that end with an answer. */
export async function startRun(
  client: Client,
  agent: AnyAgent | string,
  options: StartOptions,
  { onNotice, ...settings }: RunSettings = {},
): Promise<string> {
  requireKnown('the start', options, [...Object.keys(START_OPTIONS), ...WAITING]);
  const { principal } = options;
  const earlier = await readEarlier(client, { ...options }, { agent: typeof agent === 'string' ? agent : agent.name, principal });
  const { steps } = earlier ?? {};
  const limits = steps === undefined ? {} : { limits: { steps, ...options.limits } };
  const input = runInput(agent, { ...withEarlier(options, earlier), ...limits });
  for (const notice of earlier?.notices ?? []) onNotice?.(notice);
  const start: WorkflowStart = { type: AGENT_RUN, name: input.agent, input, summary: `${input.agent}: ${openingText(input)}` };
  return startWorkflow(client, start, options, settings);
}
