import { continueAsNew, executeChild, makeContinueAsNewFunc, startChild } from '@temporalio/workflow';
import {
  parallel,
  type ParallelResult,
  runAgent,
  type RunAgentOptions,
  type RunOpening,
  type ContinueAsNewState,
  loop,
  sequential,
} from '../../../workflows/index.ts';

/** Two agents in one workflow: the second writes about the findings of the first. */
export async function report(topic: string): Promise<{ text: string; statuses: string[]; tokens: number }> {
  const facts = await runAgent('researcher', `Research: ${topic}`);
  const text = await runAgent('writer', `Write about: ${facts.outputText}`);
  return { text: text.outputText, statuses: [facts.status, text.status], tokens: facts.usage.totalTokens + text.usage.totalTokens };
}

/** Runs one agent and returns the result that its host gets. */
export async function outcome(runId: string): Promise<{ status: string; error: string | null; cancelReason: string | undefined }> {
  const { status, error, cancelReason } = await runAgent('researcher', 'Q', { runId });
  return { status, error, cancelReason };
}

/** Two agents in parallel, each with its own conversation. */
export async function sideBySide(question: string): Promise<ParallelResult> {
  return parallel(['researcher', 'writer'], question);
}

/** The input of a host with two agents in its own history: for each agent, its answer or its carried state. */
interface Inline {
  first?: string | ContinueAsNewState;
  second?: string | ContinueAsNewState;
  executions?: number;
}

/** Two agents at the same time in the history of their host, which continues as new for both. */
export async function inlineReport({ first, second, executions = 1 }: Inline = {}): Promise<{ texts: string[]; executions: number }> {
  const [facts, text] = await Promise.all([goOn('researcher', first), goOn('writer', second)]);
  if (typeof facts === 'string' && typeof text === 'string') return { texts: [facts, text], executions };
  return continueAsNew<typeof inlineReport>({ first: facts, second: text, executions: executions + 1 });
}

async function goOn(agent: string, so: string | ContinueAsNewState | undefined): Promise<string | ContinueAsNewState> {
  if (typeof so === 'string') return so;
  const end = await runAgent(agent, 'Q', { inline: true, ...(so === undefined ? {} : { continuedState: so }) });
  return end.type === 'finished' ? end.result.outputText : end.continuedState;
}

/** One agent inline, under a key. */
export async function inlineOutcome(key: string): Promise<{ status: string; runId: string; output: unknown }> {
  const end = await runAgent('researcher', 'Q', { inline: true, key });
  if (end.type === 'continue') throw new Error('the threshold was not meant to be reached');
  return { status: end.result.status, runId: end.result.runId, output: end.result.output };
}

/** An inline agent that is refused twice, for its deadline and for its input, and then runs: under a key, or under its own name. */
export async function inlineAgain({ key }: { key?: string } = {}): Promise<string[]> {
  const options = { inline: true, ...(key === undefined ? {} : { key }) } as const;
  const refused = async (input: string, limits: NonNullable<RunAgentOptions['limits']>): Promise<string> =>
    runAgent('researcher', input, { ...options, limits }).then(
      () => 'taken',
      (error: { type?: string }) => String(error.type),
    );
  const refusals = [await refused('Q', { deadline: 'soon' as '1s' }), await refused('Q', { totalTokens: -1 })];
  const end = await runAgent('researcher', 'Q', options);
  return [...refusals, end.type === 'finished' ? end.result.runId : end.type];
}

/** One agent as a child and again inline, both with the limits of this start. */
export async function limitedTwice(limits: NonNullable<RunAgentOptions['limits']>): Promise<(string | undefined)[]> {
  const child = await runAgent('assistant', 'Q', { limits });
  const inline = await runAgent('assistant', 'Q', { inline: true, limits });
  return [child.stopReason, inline.type === 'finished' ? inline.result.stopReason : inline.type];
}

/** Continues as new as a run of an agent, with any given carried state, such as the state of an unknown release. */
export async function handOn(continuedState: unknown): Promise<never> {
  return makeContinueAsNewFunc<(input: unknown) => Promise<unknown>>({ workflowType: 'agentRun' })({ continuedState });
}

/** Starts runs of an agent as children, in both ways of Temporal and with any given carried state, and returns the codes of their failures. */
export async function childrenThatCarry(continuedState: unknown): Promise<string[]> {
  const options = { args: [{ continuedState }] };
  const started = await startChild('agentRun', options);
  const codeOf = async (result: Promise<unknown>): Promise<string> =>
    result.then(
      () => 'taken',
      (error: { cause?: { type?: string } }) => error.cause?.type ?? 'unknown',
    );
  return Promise.all([codeOf(started.result()), codeOf(executeChild('agentRun', options))]);
}

/** One agent inline, which continues over executions of its host. */
export async function inlineDesk(continuedState?: ContinueAsNewState): Promise<string> {
  const end = await runAgent('desk', 'Q', { inline: true, ...(continuedState === undefined ? {} : { continuedState }) });
  return end.type === 'finished' ? end.result.outputText : continueAsNew<typeof inlineDesk>(end.continuedState);
}

/** An agent that continues a conversation: as a child, and again in the history of its host. */
export async function wentOn(opening: RunOpening): Promise<string[]> {
  const child = await runAgent('assistant', opening);
  const inline = await runAgent('assistant', opening, { inline: true });
  return [child.outputText, inline.type === 'finished' ? inline.result.outputText : inline.type];
}

/** Two agents in sequence, and then in rounds, each time over one conversation. */
export async function inTurns(question: string): Promise<{ outputs: unknown[]; names: string[]; steps: number[] }> {
  const once = await sequential(['researcher', 'writer'], question);
  const until = { const: 'good' };
  const rounds = await loop(['researcher', 'writer'], question, { name: 'rounds', maxIterations: 3, until });
  return {
    outputs: [once.output, rounds.output],
    names: [once, rounds].flatMap(({ agentName, lastAgent = '' }) => [agentName, lastAgent]),
    steps: [once.stepsUsed, rounds.stepsUsed],
  };
}
