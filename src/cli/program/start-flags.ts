import { type Command, Option } from 'commander';
import { IF_EXISTS, type IfExists } from '../../client/client-options.ts';
import type { ProgramOptions } from '../../client/start.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { ifExists, jsonObject, oneMore, someSeconds, wholeNumber } from './argument-parsers.ts';
import type { ServerFlags } from './command.ts';
import { addLimitOptions, type LimitFlags, limitOptions } from './limit-flags.ts';

/** The options of all commands that start runs. */
export interface StartingFlags extends ServerFlags, LimitFlags {
  deps?: JsonObject;
  state?: JsonObject;
  runId?: string;
  ifExists: IfExists;
  tag?: string[];
  memo?: JsonObject;
  priority?: number;
  fairnessKey?: string;
  wait?: boolean;
  /** Milliseconds. */
  waitTimeout?: number;
}

/** Adds these options to a command, except `wait`. `idOf` names the first part of the default id. */
export function addStartOptions(command: Command, { idOf, depsFor }: { idOf: string; depsFor: string }): Command {
  command
    .option('--deps <json>', `the run's data for ${depsFor}: a JSON object`, jsonObject)
    .option('--state <json>', 'the state that the run begins with, which tools change: a JSON object', jsonObject)
    .option('--run-id <run>', `the id of the run; the same id twice is one run (default: the ${idOf} and a UUID)`)
    .addOption(
      new Option('--if-exists <choice>', 'if the run id is taken: fail, go on with that run, or start it again if it has failed')
        .choices(IF_EXISTS)
        .argParser(ifExists)
        .default('fail'),
    );
  return addLimitOptions(command)
    .option('--tag <tag>', 'a word that the run is found by; may be repeated', oneMore)
    .option('--memo <json>', 'data that Temporal shows with the run: a JSON object', jsonObject)
    .option('--priority <number>', 'if the task queue has a backlog, runs with a lower number go first', wholeNumber(1))
    .option('--fairness-key <key>', 'if the task queue has a backlog, each key gets an equal share')
    .option('--wait-timeout <seconds>', 'wait, but no longer than this', someSeconds);
}

/** The options of a start that these flags set. Those of an agent are the same. */
type SharedOptions = Pick<
  ProgramOptions,
  'ifExists' | 'deps' | 'state' | 'runId' | 'tags' | 'memo' | 'priority' | 'fairnessKey' | 'limits'
>;

/** Returns the options of a start that these flags set. */
export function sharedStartOptions(flags: StartingFlags): SharedOptions {
  const { deps, state, runId, ifExists: choice, tag, memo, priority, fairnessKey } = flags;
  const limits = limitOptions(flags);
  return {
    ifExists: choice,
    ...(deps === undefined ? {} : { deps }),
    ...(state === undefined ? {} : { state }),
    ...(runId === undefined ? {} : { runId }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(memo === undefined ? {} : { memo }),
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessKey === undefined ? {} : { fairnessKey }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}
