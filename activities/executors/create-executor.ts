import { UsageError } from '../../src/core/domain/errors/error.ts';
import type { Executor } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';
import type { Provided } from './provided.ts';

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

const METHODS = ['run', 'begin', 'resume', 'kill', 'inject', 'reset', 'close'] as const satisfies readonly (keyof Executor)[];

/** Makes an executor by the function of its definition. Throws a UsageError if it returns something else. */
async function ownExecutor({ create, ...definition }: ExecutorDefinition, provided: Provided): Promise<Executor> {
  if (create === undefined) throw new UsageError('The executor has no function: make it with inProcess({create: …, language: …})');
  const { kind, language, limits, allowedImports } = definition;
  const made: unknown = await create({ kind, language, limits, allowedImports, ...provided });
  const missing = METHODS.find((name) => typeof (made as Partial<Executor> | null | undefined)?.[name] !== 'function');
  if (missing === undefined) return made as Executor;
  throw new UsageError(
    `"create" of inProcess returned something without the method "${missing}": return an object with ${METHODS.join(', ')}`,
  );
}
