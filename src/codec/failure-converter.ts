import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Moves the message and the stack of a failure into a payload, so that codecs encode them; its type stays in clear
 * text. Loaded by its path, also in the workflow sandbox.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

/** A text that is contained in every workflow bundle with this converter. */
export const BUNDLE_MARK = 'longhaul failure converter: messages and stacks are encoded';
