#!/usr/bin/env node
import { processTerminal } from './process-terminal.ts';
import { runCli } from './run-cli.ts';

const exitCode = await runCli(process.argv.slice(2), processTerminal());
// Connections may still be closing; what was written must be out before the process ends.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
