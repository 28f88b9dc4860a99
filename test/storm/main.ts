import { arrivalsStorm } from './arrivals-storm.ts';
import { approvalsStorm } from './approvals-storm.ts';
import { type Check, checkLines, beginCommand, endCommand } from '../processes/command.ts';
import { messagesStorm } from './messages-storm.ts';
import { parseOptions, type Part, type StormOptions, USAGE } from './options.ts';
import { type Outcome, type WithTestbed, withTestbeds } from './processes/storm-testbed.ts';
import { queriesStorm } from './queries-storm.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';

/**
 * `npm run storm`: sends requests to open runs under load, and checks that each is accepted once. Reports its progress on
 * stderr; prints each check, with `--json` a line of figures, and a closing line. Exit code 0: all checks hold; 1: some do not.
 */

/** The number of runs that the worker of `approvals` caches. */
const CACHED_RUNS = 50;

/** Few cached runs and short executions: nearly every query and task of `queries` has to load its run. */
const HARDLY_ANY_RUNS = 2;
const FEW_EVENTS = 40;

function runPart(
  part: Part,
  { runs, messages, busySeconds, queriedRuns, workers, rounds, seed, waitingRuns, hogs }: StormOptions,
  withTestbed: WithTestbed,
): Promise<Outcome> {
  switch (part) {
    case 'approvals':
      return withTestbed({ name: part, cached: CACHED_RUNS }, (testbed) => approvalsStorm(testbed, runs));
    case 'messages':
      return withTestbed({ name: part }, (testbed) => messagesStorm(testbed, { messages, workMs: 0 }));
    case 'busy':
      return withTestbed({ name: part }, (testbed) => messagesStorm(testbed, { messages, workMs: busySeconds * 1_000 }));
    case 'queries':
      return withTestbed({ name: part, cached: HARDLY_ANY_RUNS, eventsOfExecution: FEW_EVENTS }, (testbed) =>
        queriesStorm(testbed, { runs: queriedRuns, rounds, workers, seed }),
      );
    case 'arrivals':
      return withTestbed({ name: part, isPatient: true }, (testbed) => arrivalsStorm(testbed, { runs: waitingRuns, hogs }));
  }
}

/** A part that does not end has failed; the other parts are run nevertheless. */
async function outcomeOf(part: Part, asked: StormOptions, withTestbed: WithTestbed): Promise<Outcome> {
  try {
    return await runPart(part, asked, withTestbed);
  } catch (error) {
    return { checks: [{ name: 'it comes to its end', problems: [errorMessage(error)] }], figures: {} };
  }
}

const { options, say } = beginCommand('storm', { parse: parseOptions, usage: USAGE });
const checks: Check[] = [];
const figures: Partial<Record<Part, object>> = {};
await withTestbeds({ say, traces: options.traces }, async (withTestbed) => {
  for (const part of options.parts) {
    const outcome = await outcomeOf(part, options, withTestbed);
    figures[part] = outcome.figures;
    checks.push(...outcome.checks);
    process.stdout.write(`${outcome.checks.flatMap((check) => checkLines(part, check)).join('\n')}\n`);
    if (!options.json) say(JSON.stringify(outcome.figures, null, 2));
  }
});
endCommand(checks, options.json ? figures : undefined);
