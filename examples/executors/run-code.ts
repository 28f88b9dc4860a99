import { quickjs } from 'longhaul';
import { createExecutor, type ExecutionResult } from 'longhaul/executors';

/** Runs four pieces of code in one namespace. */
export async function runCode(): Promise<ExecutionResult[]> {
  const executor = await createExecutor(quickjs({ limits: { timeoutSeconds: 0.5, maxMemoryMb: 32 } }));
  try {
    executor.inject('prices', { apple: 2, pear: 3 });
    return [
      await executor.run('let total = prices.apple + 2 * prices.pear; final_answer(total)'), // finalValue: 8
      await executor.run('print(total + 1)'), // output: '9', because names stay
      await executor.run('for (;;);'), // timeout: true, error.message: 'Execution timed out after 0.5s'
      await executor.run('print(typeof total)'), // output: 'undefined', emptiedBy: 'timeout'
    ];
  } finally {
    await executor.close();
  }
}
