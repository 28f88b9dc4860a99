import { errorMessage } from '../../core/domain/errors.ts';
import { withSubAgents } from '../../define/agent-definition.ts';
import { quickjs } from '../../define/code.ts';
import { type CheckGroup, fail, type Finding, ok, skipped } from './check.ts';
import type { Examination } from './examination.ts';

export const SANDBOX_CHECKS: CheckGroup = {
  heading: 'Code of models',
  checks: [
    { name: 'quickjs', run: checkQuickjs },
    { name: 'python-sandbox', run: checkPythonSandbox },
  ],
};

async function checkQuickjs(): Promise<Finding> {
  const { createExecutor } = await import('../../../activities/executors/index.ts');
  const executor = await createExecutor(quickjs());
  try {
    const { finalValue, error } = await executor.run('final_answer(6 * 7)');
    if (finalValue === 42) return ok('Code in JavaScript runs in QuickJS.');
    return fail(`Code in JavaScript does not run: ${error?.message ?? 'it has no result'}.`, 'npm install --force longhaul');
  } finally {
    await executor.close();
  }
}

/** Looks at bubblewrap, user namespaces and limits, by code that goes a little beyond each: the check that a worker makes, too. */
async function checkPythonSandbox({ agents, machine }: Examination): Promise<Finding> {
  const loaded = await agents;
  const owners =
    loaded.state === 'loaded' ? withSubAgents(loaded.module.agents).filter(({ code }) => code?.executor.kind === 'python') : [];
  const [owner] = owners;
  if (owner === undefined) return skipped('No agent runs code in Python.');
  const [{ checkPython }, { BUBBLEWRAP, PYTHON, sandboxedPython }] = await Promise.all([
    import('../../../activities/executors/python/check-python.ts'),
    import('../../../activities/executors/python/python-executor.ts'),
  ]);
  try {
    await checkPython({
      platform: process.platform,
      bubblewrap: BUBBLEWRAP,
      python: PYTHON,
      program: sandboxedPython,
      ...machine.isolation,
    });
    return ok('Code in Python is isolated by bubblewrap, and its limits hold.');
  } catch (error) {
    const message = errorMessage(error);
    return fail(`Agent "${owner.name}" runs code in Python: ${message}.`, remedyOf(message));
  }
}

/** Returns the one command among what the message proposes. */
function remedyOf(message: string): string {
  const [install] = /apt-get install [\w-]+/.exec(message) ?? [];
  if (install !== undefined) return install;
  return /user namespaces/.test(message) ? 'sysctl -w kernel.unprivileged_userns_clone=1' : 'bwrap --version';
}
