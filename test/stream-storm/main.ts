import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkLines, beginCommand, endCommand } from '../processes/command.ts';
import { bundleFor, openStage } from '../processes/stage.ts';
import { redisProgram } from '../streams/redis-server.ts';
import { parseOptions, USAGE } from './options.ts';
import { type StreamStormOutcome, streamStorm } from './storm.ts';

/**
 * `npm run stream-storm`: follows runs by server-sent events while workers, services and Redis are killed at random, and checks that each
 * reader gets the record of its run, nothing missing and nothing twice. Reports its progress on stderr; prints each check, with `--json` a line
 * of figures, and a closing line. Exit code 0: all checks hold; 1: some do not.
 */

const { options, say } = beginCommand('stream-storm', { parse: parseOptions, usage: USAGE });
if (redisProgram === undefined) {
  process.stderr.write('redis-server is not installed: install it, for example by "apt-get install redis-server"\n');
  process.exit(2);
}
const { runs, workers, seed, json } = options;
const { checks, figures, failed } = await storm();
if (failed.length > 0) {
  const file = join(mkdtempSync(join(tmpdir(), 'longhaul-stream-storm-')), 'failed.json');
  writeFileSync(file, JSON.stringify(failed));
  say(`the items of the runs with problems are kept in ${file}`);
}
process.stdout.write(`${checks.flatMap((check) => checkLines('stream', check)).join('\n')}\n`);
if (!json) say(JSON.stringify(figures, null, 2));
endCommand(checks, json ? figures : undefined);

async function storm(): Promise<StreamStormOutcome> {
  await using stage = await openStage(say);
  const { address, namespace } = stage;
  const place = { address, namespace, taskQueue: 'stream-storm', bundlePath: await bundleFor(stage), workers };
  return await streamStorm(place, { runs, seed, say });
}
