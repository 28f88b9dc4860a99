import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { ExecutorDefinition } from '../../../src/define/code/executor-definition.ts';
import { customExecutor } from './custom-executor.ts';

/** Checks that the program of the operator can be started, and runs an empty cell. Throws a UsageError. */
export async function checkCustom(definition: ExecutorDefinition): Promise<void> {
  const executor = customExecutor(definition);
  try {
    const { error } = await executor.run('', { now: 0, seed: 0 });
    if (error === null) return;
    throw new UsageError(
      `the executor "custom" cannot run code: ${JSON.stringify(definition.command)} failed on an empty cell: ${error.message}. Correct "command", or install it on this machine`,
    );
  } finally {
    await executor.close();
  }
}
