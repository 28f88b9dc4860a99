#!/usr/bin/env node
import { nodeProblem } from '../node-version/node-version.ts';
import { processTerminal } from './terminal.ts';

const problem = nodeProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`longhaul: ${problem}\n`);
  process.exit(1);
}
// Imported only now, because it loads modules that an older Node does not have.
const { runCli } = await import('./run-cli.ts');
// With --json, a command replaces it.
const write = process.stdout.write.bind(process.stdout);
const exitCode = await runCli(process.argv.slice(2), processTerminal());
// Connections may still be closing, so the process is ended here, once all output is written.
await new Promise<void>((resolve) => write('', () => resolve()));
process.exit(exitCode);
