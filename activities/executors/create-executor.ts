import type { Executor } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';
import type { Provided } from './provided.ts';
import { ownExecutor } from './own-executor.ts';

/** The form of `createExecutor`. */
export type CreateExecutor = (definition: ExecutorDefinition, provided: Provided) => Promise<Executor>;

/** Makes an executor. Its program is loaded when the first executor of its kind is made. */
export async function createExecutor(definition: ExecutorDefinition, provided: Provided): Promise<Executor> {
  switch (definition.kind) {
    case 'quickjs': {
      const { quickjsExecutor } = await import('./quickjs/quickjs-executor.ts');
      return quickjsExecutor(definition, provided);
    }
    case 'python': {
      const { pythonExecutor } = await import('./python/python-executor.ts');
      return pythonExecutor(definition, provided);
    }
    case 'custom': {
      const { customExecutor } = await import('./custom/custom-executor.ts');
      return customExecutor(definition, provided);
    }
    case 'in_process':
      return ownExecutor(definition, provided);
  }
}
