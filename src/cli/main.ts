#!/usr/bin/env node
import { nodeProblem } from '../node-version.ts';
import { processTerminal } from './process-terminal.ts';

const problem = nodeProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`longhaul: ${problem}\n`);
  process.exit(1);
}
// Not before: what it loads may need what an older Node lacks.
const { runCli } = await import('./run-cli.ts');
const exitCode = await runCli(process.argv.slice(2), processTerminal());
// Connections may still be closing; what was written must be out before the process ends.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
