import type { Command } from 'commander';
import type { ForgetMemoryFlags } from '../commands/memory/forget-memory.ts';
import type { MemoryFlags } from '../commands/memory/memory-file.ts';
import type { RunCommand } from './command.ts';

/** Adds the commands about memories, which need no server. */
export function addMemoryCommands(program: Command, run: RunCommand): void {
  const memory = program
    .command('memory')
    .summary('list or forget entries of a memory')
    .description('Commands about a memory in a file. --user and --tenant say whose entries are meant.');
  ofMemory(memory.command('list'))
    .summary('list entries')
    .description('Lists the entries of a memory by their keys. Without --user and --tenant: those of runs without a principal.')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('../commands/memory/list-memory.ts')).listMemory, command.optsWithGlobals<MemoryFlags>());
    });
  ofMemory(memory.command('forget'))
    .summary('forget entries')
    .description(
      'Removes one entry, those of an agent or a scope, or, without either, all of the user. "longhaul forget" also removes runs.',
    )
    .option('--key <key>', 'only the entry with this key')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ForgetMemoryFlags>();
      await run(async () => (await import('../commands/memory/forget-memory.ts')).forgetMemory, flags);
    });
}

function ofMemory(command: Command): Command {
  return command
    .requiredOption('--memory <file>', 'the file of a SQLite memory, or of a file memory (.json)')
    .option('--agent <name>', 'the name of the memory: that of the agent, unless the agent has another')
    .option('--scope <name>', 'the scope of steps of programs, instead of an agent');
}
