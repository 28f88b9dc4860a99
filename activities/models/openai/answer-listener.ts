import type { ModelCallContext } from '../../../src/core/domain/model/model.ts';

/** The callbacks that receive an answer while it arrives. */
export type AnswerListener = Pick<ModelCallContext, 'onDelta' | 'onUsage'>;
