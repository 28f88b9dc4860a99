import type { WorkflowBundleOption } from '@temporalio/worker';
import { readFileSync } from 'node:fs';
import { BUNDLE_MARK } from '../src/codec/failure-converter.ts';
import { UsageError } from '../src/domain/error.ts';

/**
 * Throws a UsageError for a workflow bundle, made ahead, that lacks the failure converter of encryption: messages of
 * failed workflows would stay in clear text and nobody would notice.
 */
export function requireEncodedFailures(bundle: WorkflowBundleOption | undefined): void {
  if (bundle === undefined) return;
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  if (code.includes(BUNDLE_MARK)) return;
  throw new UsageError(
    'The worker encrypts, and its workflow bundle was made without encryption: failure messages would stay in clear text. ' +
      'Make the bundle with the same plugin: bundleWorkflowCode({…, plugins: [plugin]})',
  );
}
