// npm run demo [-- --exit]: provides a Temporal server, runs a worker, starts a run, and prints its events as they happen.
import type { RunHandle, RunResult } from 'longhaul/client';
import { EXIT_CODES, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption, untilInterrupted } from '../../src/cli/terminal.ts';
import { eventLines } from '../../src/cli/render/event-lines.ts';
import { demoFlags, DemoSession, quietly } from '../demo/session.ts';
import { type DemoModel, demoModel } from './demo-model.ts';
import { QUESTION } from './scripted-model.ts';

/** The time that the run may take to close as cancelled when the demo ends. */
const GRACE_MS = 2_000;

const session = new DemoSession('kipchoge-demo');
const { terminal, output } = session;
const { signal, env, stdout } = terminal;

/** The resources that the demo has started besides its session. */
interface Started {
  model?: DemoModel;
  run?: RunHandle;
  result?: RunResult;
}

async function demo({ exit }: { exit: boolean }): Promise<number> {
  const started: Started = {};
  try {
    const result = await runAgent(started);
    await printResult(result, started);
    if (!exit) await session.stayUp();
    return result.success ? 0 : 1;
  } catch (error) {
    return error instanceof Interruption && started.result?.success ? 0 : reportError(error, terminal);
  } finally {
    await endAll(started);
  }
}

async function runAgent(started: Started): Promise<RunResult> {
  const model = (started.model = await demoModel(env));
  for (const line of model.lines) output.print(line);
  const client = await session.start({ agents: [model.agent], providers: { openai: model.client } });
  const run = (started.run = await client.start(model.agent, { input: QUESTION }));
  output.print(`Run "${run.runId}" has begun\n`);
  await untilInterrupted(signal, Promise.race([session.failed, printEvents(run)]));
  return (started.result = await run.result({ signal }));
}

async function printEvents(run: RunHandle): Promise<void> {
  let startedAt: string | undefined;
  for await (const event of run.events({ follow: true, signal })) {
    startedAt ??= event.timestamp;
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const options = { startedAt, look: output.look.bind(output), ...(width === undefined ? {} : { width }) };
    for (const line of eventLines(event, options)) output.print(line);
  }
}

async function printResult(result: RunResult, { run }: Started): Promise<void> {
  const answer =
    result.error === null ? output.look('bold', result.outputText) : output.look('red', `The run ended with an error: ${result.error}`);
  output.print(`\n${answer}\n\n${result.summary()}`);
  const link = run && (await session.link(run.runId));
  if (link !== undefined) output.print(`In the Temporal UI: ${output.look('cyan', link)}`);
}

/** Ends the run first, so that nothing is in flight. */
async function endAll({ run, result, model }: Started): Promise<void> {
  if (signal.aborted) output.print(output.look('dim', '\nEnding what was started. Ctrl-C again ends it at once.'));
  await quietly(run !== undefined && result === undefined ? untilInterrupted(AbortSignal.timeout(GRACE_MS), cancelRun(run)) : undefined);
  await session.end(model?.stop);
}

async function cancelRun(run: RunHandle): Promise<void> {
  await run.cancel('the demo was ended');
  await run.result();
}

const given = demoFlags('demo');
const exitCode = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
