import type { WorkerOptions } from '@temporalio/worker';

/** The part of webpack's configuration that compiles TypeScript. */
interface SwcRule {
  use?: { options?: { jsc?: { target?: string } } };
}

/**
 * Bundles workflows as the published package has them: its JavaScript is compiled for Node, and goes into the bundle unchanged,
 * while the SDK would compile the TypeScript of this repository to ES2017.
 */
export const AS_PUBLISHED: NonNullable<WorkerOptions['bundlerOptions']> = {
  webpackConfigHook: (config) => {
    for (const rule of (config.module?.rules ?? []) as SwcRule[]) {
      const { jsc } = rule.use?.options ?? {};
      if (jsc !== undefined) jsc.target = 'es2024';
    }
    return config;
  },
};
