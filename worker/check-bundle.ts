import type { WorkflowBundleOption } from '@temporalio/worker';
import { readFileSync } from 'node:fs';
import { BUNDLE_MARK as QUERY_GUARD_MARK } from '../src/core/queries/task-doubt.ts';
import { BUNDLE_MARK as FAILURE_CONVERTER_MARK } from '../src/codec/failure-converter.ts';
import { UsageError } from '../src/core/domain/errors/error.ts';

/**
 * Throws a UsageError for a prebuilt workflow bundle that lacks a part which only the bundler can add: the query guard,
 * without which a query can block a run forever, and for a worker that encrypts the failure converter, without which
 * failure messages stay in clear text. Both defects would go unnoticed.
 */
export function checkBundle(bundle: WorkflowBundleOption | undefined, { encrypts }: { encrypts: boolean }): void {
  if (bundle === undefined) return;
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  if (!code.includes(QUERY_GUARD_MARK)) {
    throw new UsageError(`The workflow bundle was made without Longhaul's plugin: a query could block a run forever. ${ADVICE}`);
  }
  if (encrypts && !code.includes(FAILURE_CONVERTER_MARK)) {
    throw new UsageError(
      `The worker encrypts, and its workflow bundle was made without encryption: failure messages would stay in clear text. ${ADVICE}`,
    );
  }
}

const ADVICE = 'Make the bundle with the same plugin: bundleWorkflowCode({…, plugins: [plugin]})';
