import type { CodeDefinition, ExecutorDefinition } from '../../src/define/code/executor-definition.ts';

/** The part of an agent that is checked. */
export interface AgentWithCode {
  readonly code?: CodeDefinition;
}

/** True if an agent runs code in a way that depends on the machine of the worker. */
export function needExecutorChecks(agents: readonly AgentWithCode[]): boolean {
  return distinctExecutors(agents).length > 0;
}

/** Checks the executors of agents, each once. Throws a UsageError for one that does not isolate code, or does not run it. */
export async function checkExecutors(agents: readonly AgentWithCode[]): Promise<void> {
  for (const definition of distinctExecutors(agents)) await checkExecutor(definition);
}

/** Checks that this machine can run code of an executor behind its boundary. Throws a UsageError with the reason and the remedy. */
export async function checkExecutor(definition: ExecutorDefinition): Promise<void> {
  switch (definition.kind) {
    case 'quickjs':
    case 'in_process':
      return;
    case 'python': {
      const { checkPython } = await import('./python/check-python.ts');
      return checkPython();
    }
    case 'custom': {
      const { checkCustom } = await import('./custom/check-custom.ts');
      return checkCustom(definition);
    }
  }
}

/** Executors that differ in what has to be checked. QuickJS is part of the package, and a function of the user isolates nothing. */
function distinctExecutors(agents: readonly AgentWithCode[]): ExecutorDefinition[] {
  const distinct = new Map<string, ExecutorDefinition>();
  for (const { code } of agents) {
    if (code === undefined || code.executor.kind === 'quickjs' || code.executor.kind === 'in_process') continue;
    const { kind, language, command } = code.executor;
    distinct.set(JSON.stringify([kind, ...(command === undefined ? [] : [language, command])]), code.executor);
  }
  return [...distinct.values()];
}
