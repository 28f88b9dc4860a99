import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Moves the message and the stack of a failure into a payload, so that codecs reach them; its type stays in clear text.
 * Loaded by its path, into the sandbox too.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

/** A text that a workflow bundle with this converter has in it. */
export const BUNDLE_MARK = 'longhaul failure converter: messages and stacks are encoded';
