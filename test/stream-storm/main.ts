import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleToFile } from '../processes/workflow-bundle.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { checkLines, closingLine } from '../processes/check.ts';
import { redisProgram } from '../streams/redis-server.ts';
import { parseOptions, type StormOptions, USAGE } from './options.ts';
import { type StreamStormOutcome, streamStorm } from './storm.ts';

/**
 * `npm run stream-storm`: follows runs by server-sent events while workers, services and Redis are killed at random, and checks that each
 * reader gets the record of its run, nothing missing and nothing twice. Reports its progress on stderr; prints each check, with `--json` a line
 * of figures, and a closing line. Exit code 0: all checks hold; 1: some do not.
 */

function say(line: string): void {
  process.stderr.write(`[stream-storm] ${line}\n`);
}

function readOptions(): StormOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n${USAGE}\n`);
    process.exit(2);
  }
}

async function storm({ runs, workers, seed }: StormOptions): Promise<StreamStormOutcome> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile();
  try {
    const { address, namespace } = server;
    return await streamStorm({ address, namespace, taskQueue: 'stream-storm', bundlePath: bundle.path, workers }, { runs, seed, say });
  } finally {
    await bundle.remove();
    await server.stop();
  }
}

const options = readOptions();
if (redisProgram === undefined) {
  process.stderr.write('redis-server is not installed: install it, for example by "apt-get install redis-server"\n');
  process.exit(2);
}
// All processes end with this one.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const { checks, figures, failed } = await storm(options);
if (failed.length > 0) {
  const file = join(mkdtempSync(join(tmpdir(), 'longhaul-stream-storm-')), 'failed.json');
  writeFileSync(file, JSON.stringify(failed));
  say(`the items of the runs with problems are kept in ${file}`);
}
process.stdout.write(`${checks.flatMap((check) => checkLines('stream', check)).join('\n')}\n`);
if (options.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else say(JSON.stringify(figures, null, 2));
process.stdout.write(`${closingLine(checks)}\n`);
process.exit(checks.every(({ problems }) => problems.length === 0) ? 0 : 1);
